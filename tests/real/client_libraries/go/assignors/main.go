// Command assignors runs the assignors of Go's client libraries.
//
// It reads one group per line and writes one line per group: by strategy, the partitions of each member.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"
	"sort"

	"github.com/IBM/sarama"
	old "github.com/Shopify/sarama"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

type partition struct {
	topic  string
	number int32
}

func (p partition) MarshalJSON() ([]byte, error) { return json.Marshal([]any{p.topic, p.number}) }

func (p *partition) UnmarshalJSON(text []byte) error {
	return json.Unmarshal(text, &[]any{&p.topic, &p.number})
}

type member struct {
	ID         string      `json:"member_id"`
	Instance   *string     `json:"instance_id"`
	Topics     []string    `json:"topics"`
	Owned      []partition `json:"owned"`
	Generation int32       `json:"generation"`
}

// Members are in the order of the JoinGroup response.
type group struct {
	Topics  map[string]int32 `json:"topics"`
	Members []member         `json:"members"`
}

type assignment map[string][]partition

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var g group
		if err := in.Decode(&g); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		answers := map[string]assignment{
			"sarama-range":                askSarama(sarama.NewBalanceStrategyRange(), g),
			"sarama-roundrobin":           askSarama(sarama.NewBalanceStrategyRoundRobin(), g),
			"sarama-1.27-range":           askOldSarama(old.BalanceStrategyRange, g),
			"sarama-1.27-roundrobin":      askOldSarama(old.BalanceStrategyRoundRobin, g),
			"kafka-go-range":              askKafkaGo(kafka.RangeGroupBalancer{}, g),
			"kafka-go-roundrobin":         askKafkaGo(kafka.RoundRobinGroupBalancer{}, g),
			"franz-go-range":              askFranzGo(kgo.RangeBalancer(), g),
			"franz-go-roundrobin":         askFranzGo(kgo.RoundRobinBalancer(), g),
			"franz-go-sticky":             askFranzGo(kgo.StickyBalancer(), g),
			"franz-go-cooperative-sticky": askFranzGo(kgo.CooperativeStickyBalancer(), g),
			"sarama-sticky":               askSaramaSticky(sarama.NewBalanceStrategySticky(), g),
			"sarama-cooperative-sticky":   askSaramaSticky(sarama.NewBalanceStrategyCooperativeSticky(), g),
			"kafka-go-rack-affinity":      askKafkaGo(kafka.RackAffinityGroupBalancer{}, g),
		}
		if err := out.Encode(answers); err != nil {
			log.Fatal(err)
		}
	}
}

func nothing(g group) assignment {
	empty := assignment{}
	for _, m := range g.Members {
		empty[m.ID] = []partition{}
	}
	return empty
}

func askSarama(strategy sarama.BalanceStrategy, g group) assignment {
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	for _, m := range g.Members {
		members[m.ID] = sarama.ConsumerGroupMemberMetadata{Topics: m.Topics}
	}
	topics := topicsOf(g)
	if len(topics) == 0 {
		return nothing(g)
	}
	plan, err := strategy.Plan(members, topics)
	if err != nil {
		log.Fatal(err)
	}
	return planned(g, plan)
}

// Sarama's sticky members send what they own in user data, cooperative ones in the subscription.
func askSaramaSticky(strategy sarama.BalanceStrategy, g group) assignment {
	members := map[string]sarama.ConsumerGroupMemberMetadata{}
	for _, m := range g.Members {
		byTopic := map[string][]int32{}
		for _, p := range m.Owned {
			byTopic[p.topic] = append(byTopic[p.topic], p.number)
		}
		userData, err := strategy.AssignmentData(m.ID, byTopic, m.Generation)
		if err != nil {
			log.Fatal(err)
		}
		sent := sarama.ConsumerGroupMemberMetadata{Version: 3, Topics: m.Topics, UserData: userData, GenerationID: m.Generation}
		for topic, numbers := range byTopic {
			sent.OwnedPartitions = append(sent.OwnedPartitions, &sarama.OwnedPartition{Topic: topic, Partitions: numbers})
		}
		members[m.ID] = sent
	}
	topics := topicsOf(g)
	if len(topics) == 0 {
		return nothing(g)
	}
	plan, err := strategy.Plan(members, topics)
	if err != nil {
		log.Fatal(err)
	}
	return planned(g, plan)
}

// Older releases have another module path.
func askOldSarama(strategy old.BalanceStrategy, g group) assignment {
	members := map[string]old.ConsumerGroupMemberMetadata{}
	for _, m := range g.Members {
		members[m.ID] = old.ConsumerGroupMemberMetadata{Topics: m.Topics}
	}
	plan, err := strategy.Plan(members, topicsOf(g))
	if err != nil {
		log.Fatal(err)
	}
	return planned(g, plan)
}

func topicsOf(g group) map[string][]int32 {
	topics := map[string][]int32{}
	for _, m := range g.Members {
		for _, topic := range m.Topics {
			if g.Topics[topic] > 0 {
				topics[topic] = make([]int32, g.Topics[topic])
				for number := range topics[topic] {
					topics[topic][number] = int32(number)
				}
			}
		}
	}
	return topics
}

func planned(g group, plan map[string]map[string][]int32) assignment {
	given := nothing(g)
	for id, byTopic := range plan {
		for topic, numbers := range byTopic {
			for _, number := range numbers {
				given[id] = append(given[id], partition{topic, number})
			}
		}
	}
	return given
}

func askKafkaGo(balancer kafka.GroupBalancer, g group) assignment {
	var members []kafka.GroupMember
	for i, m := range g.Members {
		members = append(members, kafka.GroupMember{ID: m.ID, Topics: m.Topics, UserData: []byte(rack(i))})
	}
	var partitions []kafka.Partition
	for topic, count := range g.Topics {
		for number := range count {
			leader := kafka.Broker{Rack: rack(int(number))}
			partitions = append(partitions, kafka.Partition{Topic: topic, ID: int(number), Leader: leader})
		}
	}
	given := nothing(g)
	for id, byTopic := range balancer.AssignGroups(members, partitions) {
		for topic, numbers := range byTopic {
			for _, number := range numbers {
				given[id] = append(given[id], partition{topic, int32(number)})
			}
		}
	}
	return given
}

// Members and partitions are in three racks, in turn; only rack-affinity looks at them.
func rack(i int) string { return string(rune('a' + i%3)) }

func askFranzGo(balancer kgo.GroupBalancer, g group) assignment {
	var members []kmsg.JoinGroupResponseMember
	for _, m := range g.Members {
		owned := map[string][]int32{}
		for _, p := range m.Owned {
			owned[p.topic] = append(owned[p.topic], p.number)
		}
		joined := kmsg.NewJoinGroupResponseMember()
		joined.MemberID, joined.InstanceID = m.ID, m.Instance
		joined.ProtocolMetadata = balancer.JoinGroupMetadata(m.Topics, owned, m.Generation)
		members = append(members, joined)
	}
	// A leader sorts the members before it calls the balancer (sortJoinMembers).
	sort.Slice(members, func(i, j int) bool {
		a, b := members[i], members[j]
		if a.InstanceID == nil || b.InstanceID == nil {
			return a.InstanceID != nil || b.InstanceID == nil && a.MemberID < b.MemberID
		}
		return *a.InstanceID < *b.InstanceID
	})
	ready, _, err := balancer.MemberBalancer(members)
	if err != nil {
		log.Fatal(err)
	}
	topics := map[string]int32{}
	for _, m := range g.Members {
		for _, topic := range m.Topics {
			topics[topic] = g.Topics[topic]
		}
	}
	given := nothing(g)
	plan, err := ready.(kgo.GroupMemberBalancerOrError).BalanceOrError(topics)
	if err != nil {
		log.Fatal(err)
	}
	for _, of := range plan.IntoSyncAssignment() {
		byTopic, err := kgo.ParseConsumerSyncAssignment(of.MemberAssignment)
		if err != nil {
			log.Fatal(err)
		}
		for topic, numbers := range byTopic {
			for _, number := range numbers {
				given[of.MemberID] = append(given[of.MemberID], partition{topic, number})
			}
		}
	}
	return given
}
