import { clearTimeout } from "node:timers";
import { whenLate } from "../db/index.ts";

/** An answer did not come in time. */
export class TimeoutError extends Error {
  override readonly name = "TimeoutError";
}

/** The answer, or a {@link TimeoutError} when it does not come in time. */
export function withTimeout<Answer>(answer: Promise<Answer>, msMax: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new TimeoutError(`There was no answer within ${msMax} ms`));
    const timer = whenLate(msMax, fail);
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
