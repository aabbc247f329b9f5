import { clearTimeout, setImmediate, setTimeout } from "node:timers";

/** An answer did not come in time. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/**
 * The answer, or a {@link TimeoutError} when it does not come in time. Where it was this process that was busy, the answer may lie
 * unread: two more turns of the event loop tell.
 */
export function withTimeout<Answer>(answer: Promise<Answer>, msMax: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new TimeoutError(`There was no answer within ${msMax} ms`));
    const timer = setTimeout(() => setImmediate(() => setImmediate(fail)), msMax);
    answer.then(
      (value) => {
        clearTimeout(timer);
        resolve(value);
      },
      (error) => {
        clearTimeout(timer);
        reject(error);
      },
    );
  });
}
