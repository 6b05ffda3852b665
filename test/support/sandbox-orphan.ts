/** Starts a broker in the folder of its argument, prints its process id and waits to be killed. */
import {startKafka} from '../../sandbox/kafka.ts'

const [dir = '', mode = ''] = process.argv.slice(2)
const kafka = await startKafka({version: '4.4.0', dir})
if (mode === 'suspend') kafka.suspend()
process.stdout.write(`${kafka.pids.join(' ')}\n`)
