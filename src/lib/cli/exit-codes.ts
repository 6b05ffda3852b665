import {EXIT} from '../errors.ts'

/** What each exit code says; printed by `kdlq help exit-codes`. */
export const EXIT_CODES: readonly (readonly [code: number, meaning: string])[] = [
  [EXIT.OK, 'Done as asked; an empty result too.'],
  [EXIT.FAILED, 'Failed: Kafka or a file, and nothing below fits better.'],
  [EXIT.USAGE, 'Wrong use: command, flag, argument, expression or configuration.'],
  [EXIT.BAD_ANSWER, 'Finished, but the answer is bad: records failed, a scan was incomplete, a threshold was passed.'],
  [EXIT.AUTH, 'Authentication or authorisation.'],
  [EXIT.UNREACHABLE, 'The cluster is not reachable, or timed out.'],
  [
    EXIT.REFUSED,
    'Refused by a check, or the question was declined (also: no terminal and no --yes); nothing was written.',
  ],
  [EXIT.BUG, 'A bug in kdlq; please report it.'],
  [EXIT.SIGINT, 'Stopped by SIGINT (Ctrl-C) after settling.'],
  [EXIT.SIGTERM, 'Stopped by SIGTERM after settling.'],
]
