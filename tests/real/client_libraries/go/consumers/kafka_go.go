package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/segmentio/kafka-go"
)

type kafkaGo struct {
	name  string
	group *kafka.ConsumerGroup
}

func newKafkaGo(name string, asked settings) (consumer, error) {
	balancers := map[string]kafka.GroupBalancer{
		"range":      kafka.RangeGroupBalancer{},
		"roundrobin": kafka.RoundRobinGroupBalancer{},
	}
	var offered []kafka.GroupBalancer
	for _, protocol := range asked.protocols {
		if balancers[protocol] == nil {
			return nil, fmt.Errorf("no protocol %q", protocol)
		}
		offered = append(offered, balancers[protocol])
	}
	dialer := kafka.DefaultDialer
	if asked.client != "" {
		dialer = &kafka.Dialer{ClientID: asked.client}
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID:                    asked.group,
		Brokers:               asked.servers,
		Dialer:                dialer,
		Topics:                asked.topics,
		GroupBalancers:        offered,
		HeartbeatInterval:     heartbeat,
		WatchPartitionChanges: true,
		SessionTimeout:        asked.session,
	})
	return &kafkaGo{name, group}, err
}

func (c *kafkaGo) run() error {
	for {
		generation, err := c.group.Next(context.Background())
		if errors.Is(err, kafka.ErrGroupClosed) {
			return nil
		}
		if err != nil {
			// It joins again.
			continue
		}
		has := map[string][]int32{}
		for topic, assigned := range generation.Assignments {
			for _, each := range assigned {
				has[topic] = append(has[topic], int32(each.ID))
			}
		}
		reportAssigned(c.name, generation.MemberID, generation.ID, has)
		generation.Start(func(ctx context.Context) { <-ctx.Done() })
	}
}

func (c *kafkaGo) close() { c.group.Close() }
