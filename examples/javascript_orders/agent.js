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
async function naive(planner, executor) {
  const plan = await makePlan(planner, await readFacts(planner))
  await executor.pause('approval')
  await executor.act('deliver', plan.value, plan.id)
}

/** Has it cleared right before. */
async function fenced(planner, executor) {
  const facts = await readFacts(planner)
  const plan = await makePlan(planner, facts)
  await executor.pause('approval')
  const replan = (_, changed) => makePlan(executor, { ...facts, ...changed })
  const { id, value } = await cleared(executor, plan, await executor.declared('deliver'), replan)
  await executor.act('deliver', value, id)
}

const run = { naive, fenced }[process.argv[2]]

/** One episode for each POST, from a fresh start: nothing is kept between two of them. */
http.createServer(async (request, response) => {
  let body = ''
  for await (const part of request) body += part
  const episode = JSON.parse(body)
  let answer = { done: true }
  try {
    await run(new World(episode, 'planner'), new World(episode, 'executor'))
  } catch (error) {
    if (!(error instanceof Halt || error instanceof ServiceError)) {
      console.error(error)
      response.statusCode = 500
    }
    answer = response.statusCode === 500 ? { error: String(error) } : { halted: error.message }
  }
  response.setHeader('content-type', 'application/json').end(JSON.stringify(answer))
}).listen(process.env.PORT, '127.0.0.1')
