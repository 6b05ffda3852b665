import {randomInt} from 'node:crypto'
import {createServer} from 'node:net'

/**
 * Free TCP ports of 127.0.0.1. They lie below the range from which the system takes ports for outgoing connections, so
 * that nothing takes one between this look and the start of the service.
 */
export async function freePorts(count: number): Promise<number[]> {
  const ports = new Set<number>()
  while (ports.size < count) {
    const port = randomInt(20_000, 30_000)
    if (!ports.has(port) && (await isFree(port))) ports.add(port)
  }
  return [...ports]
}

/** True when a service could listen on this port of 127.0.0.1 now. */
export function isFree(port: number): Promise<boolean> {
  return new Promise(resolve => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen({port, host: '127.0.0.1', exclusive: true}, () => server.close(() => resolve(true)))
  })
}
