// Command consumers runs consumers of Go's client libraries, each controlled by lines on standard input:
//
//	start  NAME  KEY=VALUE ...   join a group; the keys are those of the type settings
//	close  NAME                  leave the group and end
//	subscribe  NAME  a,b         subscribe to these topics, which kafka-go cannot; franz-go adds them
//
// It reports, in tab-separated fields:
//
//	assigned  NAME  MEMBER_ID  GENERATION  topic-0,topic-1  TIME   all partitions that it has now
//	closed    NAME  TIME
//	failed    NAME  REASON  TIME
package main

import (
	"bufio"
	"fmt"
	"os"
	"sort"
	"strconv"
	"strings"
	"sync"
	"time"
)

const heartbeat = time.Second

type settings struct {
	servers   []string
	group     string
	client    string
	instance  string
	rack      string
	topics    []string
	protocols []string
	session   time.Duration
}

// A consumer runs until it is told to close.
type consumer interface {
	run() error
	close()
}

// A subscriber can change its topics while it runs.
type subscriber interface {
	subscribe(topics []string)
}

var reporting sync.Mutex

func report(fields ...string) {
	reporting.Lock()
	defer reporting.Unlock()
	fmt.Println(strings.Join(append(fields, fmt.Sprint(time.Now().UnixMilli())), "\t"))
}

func reportAssigned(name, memberID string, generation int32, partitions map[string][]int32) {
	var listed []string
	for topic, numbers := range partitions {
		for _, number := range numbers {
			listed = append(listed, fmt.Sprintf("%s-%d", topic, number))
		}
	}
	sort.Strings(listed)
	report("assigned", name, memberID, fmt.Sprint(generation), strings.Join(listed, ","))
}

func main() {
	running := map[string]func(){}
	consumers := map[string]consumer{}
	var closing sync.WaitGroup
	for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
		fields := strings.Split(orders.Text(), "\t")
		name := fields[1]
		if fields[0] == "close" {
			closing.Go(running[name])
			delete(running, name)
			continue
		}
		if fields[0] == "subscribe" {
			consumers[name].(subscriber).subscribe(strings.Split(fields[2], ","))
			continue
		}
		started, err := newConsumer(name, fields[2:])
		if err != nil {
			report("failed", name, err.Error())
			continue
		}
		consumers[name] = started
		running[name] = start(name, started)
	}
	for _, end := range running {
		closing.Go(end)
	}
	closing.Wait()
}

// start runs a consumer and returns a function that closes it.
func start(name string, started consumer) func() {
	ended := make(chan error, 1)
	go func() {
		err := started.run()
		if err != nil {
			report("failed", name, strings.Join(strings.Fields(err.Error()), " "))
		}
		ended <- err
	}()
	return func() {
		started.close()
		if <-ended == nil {
			report("closed", name)
		}
	}
}

func newConsumer(name string, given []string) (consumer, error) {
	values := map[string]string{}
	for _, each := range given {
		key, value, _ := strings.Cut(each, "=")
		values[key] = value
	}
	session, _ := strconv.Atoi(values["session"])
	asked := settings{
		servers:   strings.Split(values["servers"], ","),
		group:     values["group"],
		client:    values["client"],
		instance:  values["instance"],
		rack:      values["rack"],
		topics:    strings.Split(values["topics"], ","),
		protocols: strings.Split(values["protocols"], ","),
		session:   time.Duration(session) * time.Millisecond,
	}
	switch values["library"] {
	case "sarama":
		return newSarama(name, asked)
	case "franz-go":
		return newFranzGo(name, asked)
	case "kafka-go":
		return newKafkaGo(name, asked)
	}
	return nil, fmt.Errorf("no library %q", values["library"])
}
