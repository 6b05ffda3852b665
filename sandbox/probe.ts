/** Two requests written by hand, so that readiness and version checks depend on no Kafka client. */
import {connect} from 'node:net'

const CLIENT_ID = 'kdlq-sandbox'

/**
 * Send one request and return the response body after its correlation id.
 * @throws Error when the broker does not answer in time or closes the connection
 */
export function request(port: number, header: RequestHeader, body: Buffer, timeoutMs = 2000): Promise<Buffer> {
  const client = Buffer.from(CLIENT_ID)
  const head = Buffer.alloc(10)
  head.writeInt16BE(header.apiKey, 0)
  head.writeInt16BE(header.apiVersion, 2)
  head.writeInt32BE(7, 4)
  head.writeInt16BE(client.length, 8)
  const tags = Buffer.alloc(header.flexible ? 1 : 0)
  const payload = Buffer.concat([head, client, tags, body])
  const size = Buffer.alloc(4)
  size.writeInt32BE(payload.length, 0)
  return new Promise((resolve, reject) => {
    const socket = connect({port, host: '127.0.0.1'})
    let received: Buffer = Buffer.alloc(0)
    socket.setTimeout(timeoutMs, () => socket.destroy(new Error(`no answer from port ${port} in ${timeoutMs} ms`)))
    socket.once('connect', () => socket.write(Buffer.concat([size, payload])))
    socket.on('data', (chunk: Buffer) => {
      received = Buffer.concat([received, chunk])
      if (received.length < 4 || received.length < 4 + received.readInt32BE(0)) return
      resolve(received.subarray(8, 4 + received.readInt32BE(0)))
      socket.destroy()
    })
    socket.once('error', reject)
    socket.once('close', () => reject(new Error(`port ${port} closed the connection`)))
  })
}

interface RequestHeader {
  readonly apiKey: number
  readonly apiVersion: number
  readonly flexible: boolean
}

/** Number of brokers that the broker at this port knows of; 0 while it is not ready. */
export async function countBrokers(port: number): Promise<number> {
  // Metadata v4: an empty list of topics, no automatic creation. Answer: throttle time, then the brokers.
  const body = Buffer.from([0, 0, 0, 0, 0])
  try {
    const answer = await request(port, {apiKey: 3, apiVersion: 4, flexible: false}, body)
    return answer.length < 8 ? 0 : answer.readInt32BE(4)
  } catch {
    return 0
  }
}
