import {KafkaError, type ErrorDetails} from '../../errors.ts'

/**
 * Bytes that are no record batch: a checksum, a length, a count or compressed data is wrong.
 *
 * Code `E_RECORD_FORMAT`, or `E_MESSAGE_FORMAT` for a message format that kdlq does not read.
 */
export class RecordFormatError extends KafkaError {
  constructor(message: string, details: ErrorDetails = {}) {
    super(message, {code: 'E_RECORD_FORMAT', ...details})
  }
}

/**
 * The error for a batch that is not message format 2.
 * @param magic what the batch says about itself, 0 or 1 for the formats before Kafka 0.11
 * @param baseOffset decimal string
 */
export function messageFormatError(magic: number, baseOffset: string): RecordFormatError {
  const old = magic === 0 || magic === 1
  return new RecordFormatError(`message format ${magic} cannot be read, kdlq reads format 2 only`, {
    code: 'E_MESSAGE_FORMAT',
    hints: old
      ? [
          'these records were written by a producer, or for a topic, of Kafka 0.10 or older',
          'rewrite them: mirror the topic into a new one, or read them with kafka-console-consumer of Kafka 3.x',
        ]
      : ['a newer kdlq may know this format'],
    context: {magic, baseOffset},
  })
}
