package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/IBM/sarama"
)

type saramaConsumer struct {
	name   string
	topics []string
	group  sarama.ConsumerGroup
	stop   context.CancelFunc
	until  context.Context
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
	return &saramaConsumer{name, asked.topics, group, stop, until}, err
}

func (c *saramaConsumer) run() error {
	for c.until.Err() == nil {
		if err := c.group.Consume(c.until, c.topics, c); err != nil && !errors.Is(err, sarama.ErrClosedConsumerGroup) {
			return err
		}
	}
	return c.group.Close()
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
