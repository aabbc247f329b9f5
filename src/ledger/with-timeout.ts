import { clearTimeout, setImmediate, setTimeout } from "node:timers";

/**
 * The answer, or a failure when it does not come in time. Where it was this process that was busy, the answer may lie
 * unread: two more turns of the event loop tell.
 */
export function withTimeout<Answer>(answer: Promise<Answer>, msMax: number): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const fail = () => reject(new Error(`There was no answer within ${msMax} ms`));
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
