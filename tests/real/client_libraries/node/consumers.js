// Runs consumers of JavaScript's client libraries, each controlled by lines on standard input.
//
// Orders and reports are those of the program for Go's libraries (../go/consumers/main.go).
import { createInterface } from 'node:readline'
import { Consumer, stringDeserializers } from '@platformatic/kafka'
import kafkajs from 'kafkajs'

const HEARTBEAT_MS = 1000
const running = new Map()

function report (...fields) {
  process.stdout.write([...fields, Date.now()].join('\t') + '\n')
}

function reportAssigned (name, memberId, generation, assigned) {
  const listed = assigned.flatMap(({ topic, partitions }) => partitions.map(number => `${topic}-${number}`))
  report('assigned', name, memberId, generation, listed.sort().join(','))
}

async function startKafkaJs (name, { servers, group, client, topics }) {
  const kafka = new kafkajs.Kafka({ clientId: client || undefined, brokers: servers.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: group, heartbeatInterval: HEARTBEAT_MS, metadataMaxAge: HEARTBEAT_MS })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
    const assigned = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }))
    reportAssigned(name, memberId, 0, assigned)
  })
  await consumer.connect()
  await consumer.subscribe({ topics: topics.split(',') })
  await consumer.run({ eachMessage: async () => {} })
  return () => consumer.disconnect()
}

async function startPlatformaticKafka (name, { servers, group, client, topics }) {
  const consumer = new Consumer({
    groupId: group,
    clientId: client,
    bootstrapBrokers: servers.split(','),
    deserializers: stringDeserializers,
    heartbeatInterval: HEARTBEAT_MS
  })
  consumer.on('consumer:group:join', ({ memberId, generationId, assignments }) => {
    reportAssigned(name, memberId, generationId, assignments ?? [])
  })
  const stream = await consumer.consume({ topics: topics.split(','), autocommit: false })
  stream.on('data', () => {})
  return () => consumer.close(true)
}

const LIBRARIES = { kafkajs: startKafkaJs, 'platformatic-kafka': startPlatformaticKafka }

async function obey (line) {
  const [order, name, ...settings] = line.split('\t')
  if (order === 'close') {
    const close = await running.get(name)
    running.delete(name)
    await close()
    report('closed', name)
    return
  }
  const given = Object.fromEntries(settings.map(setting => setting.split(/=(.*)/s)))
  running.set(name, LIBRARIES[given.library](name, given))
  await running.get(name)
}

for await (const line of createInterface({ input: process.stdin })) {
  obey(line).catch(error => report('failed', line.split('\t')[1], error.message))
}
await Promise.all([...running.values()].map(async starting => (await starting)()))
process.exit()
