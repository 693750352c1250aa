// A client of the service that fencecheck offers: owners, records and tools over HTTP. Node's own modules only.
'use strict'
const http = require('node:http')
const path = require('node:path')

const TIMEOUT_S = 30
const keepAlive = new http.Agent({ keepAlive: true, maxSockets: 4 })

/** A service did not answer, or answered what cannot be used. `status` is that of its answer, 0 where there was none. */
class ServiceError extends Error {
  constructor(message, status = 0) {
    super(message)
    this.status = status
  }
}

/** The world as the agent sees it in one episode. */
class World {
  constructor({ base_url: baseUrl, token }) {
    this.base = new URL(baseUrl)
    this.headers = { authorization: `Bearer ${token}`, 'fencecheck-timeout': String(TIMEOUT_S) }
  }

  /** The current record of a key, from its owner. */
  read(key) { return this.json('GET', `keys/${encodeURIComponent(key)}`) }

  /** The id of the current record of a key, from its owner: its entity tag. */
  async head(key) {
    const { headers } = await this.request('HEAD', `keys/${encodeURIComponent(key)}`)
    const tag = /^"([^"]*)"$/.exec(headers.etag ?? '')
    if (!tag) throw new ServiceError(`the owner of ${key} answers no version`)
    return decodeURIComponent(tag[1])
  }

  /** The record of that id. */
  record(id) { return this.json('GET', `records/${encodeURIComponent(id)}`) }

  /** Writes a record that was derived from others, such as a plan. */
  derive(value, parents) { return this.json('POST', 'records', { value, parents }) }

  /** Calls a tool. */
  act(action, args, plan, headers = {}) { return this.json('POST', `actions/${encodeURIComponent(action)}`, { args, plan }, headers) }

  /** The keys that a tool is declared to depend on. */
  async declared(action) { return (await this.json('POST', `declared/${encodeURIComponent(action)}`)).keys }

  /** The mark: these keys have just been validated. */
  validated(keys) { return this.request('POST', 'validated', { keys }) }

  /** A wait of unknown length, such as for a person's approval. */
  pause(label) { return this.request('POST', 'pause', { label }) }

  async json(...request) {
    const { body } = await this.request(...request)
    try {
      return JSON.parse(body)
    } catch {
      throw new ServiceError(`${request[1]} is answered with what is no JSON`)
    }
  }

  request(method, where, content, headers = {}) {
    const body = content === undefined ? undefined : JSON.stringify(content)
    const options = {
      agent: keepAlive, method, host: this.base.hostname, port: this.base.port, path: `${this.base.pathname}/${where}`,
      headers: { ...this.headers, 'fencecheck-line': callerOf(), 'content-length': Buffer.byteLength(body ?? ''), ...headers },
    }
    return new Promise((resolve, reject) => {
      const failed = (error) => reject(new ServiceError(`${method} ${where}: ${error.message}`))
      const sent = http.request(options, (answer) => {
        let text = ''
        answer.setEncoding('utf8')
        answer.on('data', (part) => { text += part })
        answer.on('error', failed)
        answer.on('end', () => {
          if (answer.statusCode < 300) resolve({ headers: answer.headers, body: text })
          else reject(new ServiceError(`${method} ${where}: ${answer.statusCode} ${text}`, answer.statusCode))
        })
      })
      sent.setTimeout(TIMEOUT_S * 1000, () => sent.destroy(new Error(`no answer within ${TIMEOUT_S} s`)))
      sent.on('error', failed)
      sent.end(body)
    })
  }
}

/** `file:line` of the call in the agent, for fencecheck's reports. */
function callerOf() {
  const frames = (new Error().stack ?? '').split('\n')
  const frame = frames.find((line) => line.includes('.js:') && !line.includes(__filename))
  const place = /([^(\s]+):(\d+):\d+\)?$/.exec(frame ?? '')
  return place ? `${path.basename(place[1])}:${place[2]}` : ''
}

module.exports = { ServiceError, World }
