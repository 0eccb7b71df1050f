// Runs consumers of JavaScript's client libraries, each controlled by lines on standard input.
//
// Orders and reports are those of the program for Go's libraries (../go/consumers/main.go).
import { createInterface } from 'node:readline'
import { setTimeout } from 'node:timers/promises'
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

function timeout (session) {
  return Number(session) > 0 ? { sessionTimeout: Number(session) } : {}
}

async function startKafkaJs (name, { servers, group, client, topics, session }) {
  const kafka = new kafkajs.Kafka({ clientId: client || undefined, brokers: servers.split(','), logLevel: kafkajs.logLevel.NOTHING })
  const consumer = kafka.consumer({ groupId: group, heartbeatInterval: HEARTBEAT_MS, metadataMaxAge: HEARTBEAT_MS, ...timeout(session) })
  consumer.on(consumer.events.GROUP_JOIN, ({ payload: { memberId, memberAssignment } }) => {
    const assigned = Object.entries(memberAssignment).map(([topic, partitions]) => ({ topic, partitions }))
    reportAssigned(name, memberId, 0, assigned)
  })
  await consumer.connect()
  await consumer.subscribe({ topics: topics.split(',') })
  await consumer.run({ eachMessage: async () => {} })
  return () => consumer.disconnect()
}

async function startPlatformaticKafka (name, given) {
  let consumer
  let ending = false
  const start = async () => {
    consumer = await runPlatformaticKafka(name, given, async () => {
      // It joins again: the stream ends when a partition has no leader, as while its broker restarts.
      await consumer.close(true).catch(() => {})
      for (let started = ending; !started; started = started || ending) {
        started = await setTimeout(HEARTBEAT_MS).then(start).then(() => true, () => false)
      }
    })
  }
  await start()
  return () => {
    ending = true
    return consumer.close(true)
  }
}

async function runPlatformaticKafka (name, { servers, group, client, topics, session }, ended) {
  const consumer = new Consumer({
    groupId: group,
    clientId: client,
    bootstrapBrokers: servers.split(','),
    deserializers: stringDeserializers,
    heartbeatInterval: HEARTBEAT_MS,
    ...timeout(session)
  })
  consumer.on('consumer:group:join', ({ memberId, generationId, assignments }) => {
    reportAssigned(name, memberId, generationId, assignments ?? [])
  })
  const stream = await consumer.consume({ topics: topics.split(','), autocommit: false })
  stream.on('data', () => {})
  stream.once('error', ended)
  return consumer
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
