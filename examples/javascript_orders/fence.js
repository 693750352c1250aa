// A fence in JavaScript: halt or current. The same protocol as fencecheck.fence.
'use strict'

/** The plan could not be verified, or its premises have changed again: nothing goes out. */
class Halt extends Error {}

/** The plan if its premises are current, else the plan remade once from those that are.
 *
 * Asks the owners last, when the whole lineage is in hand, so that each premise was current when its owner answered.
 */
async function cleared(world, plan, declared, replan) {
  let changed = await compare(world, plan, declared)
  if (Object.keys(changed).length > 0) {
    plan = await replan(plan, await fetched(world, changed))
    changed = await compare(world, plan, declared)
    if (Object.keys(changed).length > 0) throw new Halt(`changed again: ${Object.keys(changed)}`)
  }
  await world.validated(declared)
  return plan
}

/** Key to head, for the declared keys whose head is not the one version in the plan's lineage. */
async function compare(world, plan, declared) {
  const premises = await lineage(world, plan)
  for (const key of declared) if (!premises.has(key)) throw new Halt(`the plan does not rest on ${key}`)
  const changed = {}
  for (const key of declared) {
    // One after the other: of requests that are under way together, whichever arrives first would be answered first.
    const head = await world.head(key)
    const versions = premises.get(key)
    if (versions.size > 1 || !versions.has(head)) changed[key] = head
  }
  return changed
}

/** Key to the versions that the plan rests on. */
async function lineage(world, plan) {
  const premises = new Map()
  const seen = new Set([plan.id])
  const todo = [...plan.parents]
  while (todo.length > 0) {
    const id = todo.shift()
    if (seen.has(id)) throw new Halt(`the lineage of the plan comes back to ${id}`)
    const record = await world.record(id)
    if (record.id !== id) throw new Halt(`the record store answers ${record.id} for ${id}`)
    seen.add(id)
    if (record.key !== null) premises.set(record.key, (premises.get(record.key) ?? new Set()).add(record.id))
    todo.push(...record.parents)
  }
  return premises
}

/** The records of the changed heads, each verified to be what its owner said. */
async function fetched(world, heads) {
  const records = {}
  for (const [key, head] of Object.entries(heads)) {
    const record = await world.record(head)
    if (record.id !== head || record.key !== key || record.removed) throw new Halt(`${head} is no version of ${key} to plan from`)
    records[key] = record
  }
  return records
}

module.exports = { Halt, cleared }
