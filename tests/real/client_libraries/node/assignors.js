// Runs the assignors of JavaScript's client libraries.
//
// Reads one group per line and writes one line per group: by strategy, the partitions of each member.
import { createInterface } from 'node:readline'
import kafkaNode from 'kafka-node'
import kafkaNodeProtocols from './node_modules/kafka-node/lib/assignment/index.js'
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

// A broker lists up to four topics as they are requested, without those that do not exist.
function askKafkaNode (protocol, { topics, members }) {
  const loadMetadataForTopics = (requested, callback) => {
    const existing = requested.filter(topic => topics[topic] > 0)
    const metadata = existing.map(topic => [topic, Object.fromEntries([...Array(topics[topic]).keys()].map(n => [n, {}]))])
    callback(null, [{}, { metadata: Object.fromEntries(metadata) }])
  }
  const leader = { protocols: [kafkaNodeProtocols[protocol]], client: { loadMetadataForTopics } }
  const joined = members.map(member => ({ id: member.member_id, subscription: member.topics }))
  let answer
  try {
    kafkaNode.ConsumerGroup.prototype.assignPartitions.call(leader, protocol, joined, (_, given) => { answer = given })
  } catch (error) {
    if (members.every(member => member.topics.every(topic => topics[topic] > 0))) throw error
    return 'UnknownTopic'
  }
  return Object.fromEntries(answer.map(({ memberId, topicPartitions }) => [
    memberId,
    Object.entries(topicPartitions).flatMap(([topic, numbers]) => numbers.map(number => [topic, Number(number)]))
  ]))
}

for await (const line of createInterface({ input: process.stdin })) {
  const group = JSON.parse(line)
  const nothing = group.members.map(member => [member.member_id, []])
  const answers = {
    'kafka-node-range': askKafkaNode('range', group),
    'kafka-node-roundrobin': askKafkaNode('roundrobin', group),
    'kafkajs-roundrobin': Object.fromEntries([...nothing, ...await askKafkaJs(kafkajs, group)]),
    'kafkajs-1.12-roundrobin': Object.fromEntries([...nothing, ...await askKafkaJs(kafkajsBefore113, group)]),
    'platformatic-kafka-roundrobin': Object.fromEntries([...nothing, ...askPlatformaticKafka(group)])
  }
  process.stdout.write(JSON.stringify(answers) + '\n')
}
