// An agent that plans a delivery, waits for an approval, and calls the delivery tool. `node agent.js naive`, or `fenced`.
'use strict'
const http = require('node:http')
const { ServiceError, World } = require('./client.js')
const { Halt, cleared } = require('./fence.js')

const ADDRESS = 'order/42/address'
const WINDOW = 'order/42/window'

/** The stand-in for the model: writes the arguments of the delivery tool. */
function model(facts) {
  return { order: '42', address: facts[ADDRESS].value, window: facts[WINDOW].value }
}

async function readFacts(world) {
  const facts = {}
  for (const key of [ADDRESS, WINDOW]) {
    const record = await world.read(key)
    if (record.key !== key || record.removed) throw new Halt(`there is no ${key} to plan from`)
    facts[key] = record
  }
  return facts
}

function makePlan(world, facts) {
  return world.derive(model(facts), Object.values(facts).map((record) => record.id))
}

/** Sends the plan that was approved. */
async function naive(world) {
  const plan = await makePlan(world, await readFacts(world))
  await world.pause('approval')
  await world.act('deliver', plan.value, plan.id)
}

/** Has it cleared right before. */
async function fenced(world) {
  const facts = await readFacts(world)
  const plan = await makePlan(world, facts)
  await world.pause('approval')
  const replan = (_, changed) => makePlan(world, { ...facts, ...changed })
  const { id, value } = await cleared(world, plan, await world.declared('deliver'), replan)
  await world.act('deliver', value, id)
}

const run = { naive, fenced }[process.argv[2]]

/** One episode for each POST, from a fresh start: nothing is kept between two of them. */
http.createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  const episode = JSON.parse(body)
  let answer = { done: true }
  try {
    await run(new World(episode))
  } catch (error) {
    if (!(error instanceof Halt || error instanceof ServiceError)) {
      console.error(error)
      response.statusCode = 500
    }
    answer = response.statusCode === 500 ? { error: String(error) } : { halted: error.message }
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
}).listen(process.env.PORT, '127.0.0.1')
