package main

import (
	"context"
	"fmt"
	"strings"
	"sync"

	"github.com/twmb/franz-go/pkg/kgo"
)

type franzGo struct {
	name   string
	client *kgo.Client
	lock   sync.Mutex
	has    map[string]map[int32]bool
}

func newFranzGo(name string, asked settings) (consumer, error) {
	balancers := map[string]kgo.GroupBalancer{
		"range":              kgo.RangeBalancer(),
		"roundrobin":         kgo.RoundRobinBalancer(),
		"sticky":             kgo.StickyBalancer(),
		"cooperative-sticky": kgo.CooperativeStickyBalancer(),
		// The coordinator's, for which the client's own stand.
		"server-uniform": kgo.CooperativeStickyBalancer(),
		"server-range":   kgo.RangeBalancer(),
	}
	var offered []kgo.GroupBalancer
	for _, protocol := range asked.protocols {
		if balancers[protocol] == nil {
			return nil, fmt.Errorf("no protocol %q", protocol)
		}
		offered = append(offered, balancers[protocol])
	}
	started := &franzGo{name: name, has: map[string]map[int32]bool{}}
	options := []kgo.Opt{
		kgo.SeedBrokers(asked.servers...),
		kgo.ConsumerGroup(asked.group),
		kgo.ConsumeTopics(asked.topics...),
		kgo.Balancers(offered...),
		kgo.HeartbeatInterval(heartbeat),
		kgo.DisableAutoCommit(),
		kgo.OnPartitionsAssigned(started.changed(true)),
		kgo.OnPartitionsRevoked(started.changed(false)),
		kgo.OnPartitionsLost(started.changed(false)),
	}
	if strings.HasPrefix(asked.protocols[0], "server-") {
		options = append(options, kgo.ServerSideBalancer())
	}
	if asked.client != "" {
		options = append(options, kgo.ClientID(asked.client))
	}
	if asked.instance != "" {
		options = append(options, kgo.InstanceID(asked.instance))
	}
	if asked.rack != "" {
		options = append(options, kgo.Rack(asked.rack))
	}
	if asked.session > 0 {
		options = append(options, kgo.SessionTimeout(asked.session))
	}
	client, err := kgo.NewClient(options...)
	started.client = client
	return started, err
}

// changed returns a callback that adds or removes partitions: a cooperative member is told only what changes.
func (c *franzGo) changed(has bool) func(context.Context, *kgo.Client, map[string][]int32) {
	return func(_ context.Context, client *kgo.Client, partitions map[string][]int32) {
		c.lock.Lock()
		defer c.lock.Unlock()
		for topic, numbers := range partitions {
			for _, number := range numbers {
				if c.has[topic] == nil {
					c.has[topic] = map[int32]bool{}
				}
				c.has[topic][number] = has
			}
		}
		now := map[string][]int32{}
		for topic, numbers := range c.has {
			for number, has := range numbers {
				if has {
					now[topic] = append(now[topic], number)
				}
			}
		}
		memberID, generation := client.GroupMetadata()
		reportAssigned(c.name, memberID, generation, now)
	}
}

func (c *franzGo) run() error {
	for {
		if c.client.PollFetches(context.Background()).IsClientClosed() {
			return nil
		}
	}
}

func (c *franzGo) close() { c.client.Close() }

func (c *franzGo) subscribe(topics []string) { c.client.AddConsumeTopics(topics...) }
