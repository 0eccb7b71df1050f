package main

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/IBM/sarama"
)

type saramaConsumer struct {
	name   string
	group  sarama.ConsumerGroup
	stop   context.CancelFunc
	until  context.Context
	lock   sync.Mutex
	topics []string
	renew  context.CancelFunc
}

func newSarama(name string, asked settings) (consumer, error) {
	strategies := map[string]sarama.BalanceStrategy{
		"range":      sarama.NewBalanceStrategyRange(),
		"roundrobin": sarama.NewBalanceStrategyRoundRobin(),
		"sticky":     sarama.NewBalanceStrategySticky(),
	}
	config := sarama.NewConfig()
	config.Version = sarama.V2_4_0_0
	if asked.client != "" {
		config.ClientID = asked.client
	}
	config.RackID = asked.rack
	config.Metadata.RefreshFrequency = time.Second
	config.Consumer.Group.InstanceId = asked.instance
	config.Consumer.Group.Heartbeat.Interval = heartbeat
	if asked.session > 0 {
		config.Consumer.Group.Session.Timeout = asked.session
	}
	config.Consumer.Offsets.AutoCommit.Enable = false
	config.Consumer.Group.Rebalance.GroupStrategies = nil
	for _, protocol := range asked.protocols {
		if strategies[protocol] == nil {
			return nil, fmt.Errorf("no protocol %q", protocol)
		}
		config.Consumer.Group.Rebalance.GroupStrategies = append(
			config.Consumer.Group.Rebalance.GroupStrategies, strategies[protocol])
	}
	group, err := sarama.NewConsumerGroup(asked.servers, asked.group, config)
	until, stop := context.WithCancel(context.Background())
	return &saramaConsumer{name: name, topics: asked.topics, group: group, stop: stop, until: until}, err
}

func (c *saramaConsumer) run() error {
	for c.until.Err() == nil {
		session, topics := c.session()
		if err := c.group.Consume(session, topics, c); err != nil {
			// It joins again: brokers restart, and partitions have no leader then.
			time.Sleep(100 * time.Millisecond)
		}
	}
	return c.group.Close()
}

// session returns the context of the next session, which subscribe ends, and its topics.
func (c *saramaConsumer) session() (context.Context, []string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	session, renew := context.WithCancel(c.until)
	c.renew = renew
	return session, c.topics
}

func (c *saramaConsumer) subscribe(topics []string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.topics = topics
	if c.renew != nil {
		c.renew()
	}
}

func (c *saramaConsumer) close() { c.stop() }

func (c *saramaConsumer) Setup(session sarama.ConsumerGroupSession) error {
	reportAssigned(c.name, session.MemberID(), session.GenerationID(), session.Claims())
	return nil
}

func (c *saramaConsumer) Cleanup(session sarama.ConsumerGroupSession) error {
	reportAssigned(c.name, session.MemberID(), session.GenerationID(), nil)
	return nil
}

func (c *saramaConsumer) ConsumeClaim(_ sarama.ConsumerGroupSession, claim sarama.ConsumerGroupClaim) error {
	for range claim.Messages() {
	}
	return nil
}
