// Command balancers runs the balancers of kafka-go's Writer for records without a key.
//
// It reads the records of one Writer per line, in the order of sending, and writes one line per Writer: by client, the
// partition of each record.
package main

import (
	"encoding/json"
	"io"
	"log"
	"os"

	"github.com/segmentio/kafka-go"
)

type record struct {
	Topic      string `json:"topic"`
	ValueBytes int    `json:"value_bytes"`
}

type writer struct {
	Topics  map[string]int `json:"topics"`
	Records []record       `json:"records"`
}

func main() {
	in, out := json.NewDecoder(os.Stdin), json.NewEncoder(os.Stdout)
	for {
		var w writer
		if err := in.Decode(&w); err == io.EOF {
			return
		} else if err != nil {
			log.Fatal(err)
		}
		answers := map[string][]int{
			"kafka-go":             placed(w, &kafka.RoundRobin{}),
			"kafka-go-hash":        placed(w, &kafka.Hash{}),
			"kafka-go-least-bytes": placed(w, &kafka.LeastBytes{}),
		}
		if err := out.Encode(answers); err != nil {
			log.Fatal(err)
		}
	}
}

// A Writer calls its one balancer for every record of any topic, with the numbers of the topic's partitions.
func placed(w writer, balancer kafka.Balancer) []int {
	found := []int{}
	for _, r := range w.Records {
		numbers := make([]int, w.Topics[r.Topic])
		for i := range numbers {
			numbers[i] = i
		}
		found = append(found, balancer.Balance(kafka.Message{Value: make([]byte, r.ValueBytes)}, numbers...))
	}
	return found
}
