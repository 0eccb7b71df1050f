// Runs the assignors of JavaScript's client libraries.
//
// Reads one group per line and writes one line per group: by strategy, the partitions of each member.
import { createInterface } from 'node:readline'
import kafkajs from 'kafkajs'
import kafkajsBefore113 from 'kafkajs-1.12'
// The package itself needs a newer Node.js than this file of it.
import { roundRobinAssigner } from './node_modules/@platformatic/kafka/dist/clients/consumer/partitions-assigners.js'

async function askKafkaJs ({ AssignerProtocol, PartitionAssigners }, { topics, members, leaders_topics: leadersTopics }) {
  const partitions = topic => Array.from({ length: topics[topic] ?? 0 }, (_, partitionId) => ({ partitionId }))
  const assigner = PartitionAssigners.roundRobin({ cluster: { findTopicPartitionMetadata: partitions } })
  const joined = members.map(member => ({ memberId: member.member_id }))
  const given = await assigner.assign({ members: joined, topics: leadersTopics })
  return given.map(({ memberId, memberAssignment }) => [
    memberId,
    Object.entries(AssignerProtocol.MemberAssignment.decode(memberAssignment).assignment).flatMap(
      ([topic, numbers]) => numbers.map(number => [topic, number])
    )
  ])
}

function askPlatformaticKafka ({ topics, members, leaders_topics: leadersTopics }) {
  const joined = new Map(members.map(member => [member.member_id, member]))
  const metadata = { topics: new Map(leadersTopics.map(topic => [topic, { partitionsCount: topics[topic] ?? 0 }])) }
  return roundRobinAssigner(null, joined, new Set(leadersTopics), metadata).map(({ memberId, assignments }) => [
    memberId,
    [...assignments.values()].flatMap(({ topic, partitions }) => partitions.map(number => [topic, number]))
  ])
}

for await (const line of createInterface({ input: process.stdin })) {
  const group = JSON.parse(line)
  const nothing = group.members.map(member => [member.member_id, []])
  const answers = {
    'kafkajs-roundrobin': Object.fromEntries([...nothing, ...await askKafkaJs(kafkajs, group)]),
    'kafkajs-1.12-roundrobin': Object.fromEntries([...nothing, ...await askKafkaJs(kafkajsBefore113, group)]),
    'platformatic-kafka-roundrobin': Object.fromEntries([...nothing, ...askPlatformaticKafka(group)])
  }
  process.stdout.write(JSON.stringify(answers) + '\n')
}
