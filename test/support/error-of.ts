/**
 * What a promise fails with. `expect(promise).rejects` would run the event loop inside itself, where what comes later
 * overtakes what waits outside: a browser's driver got an answer before it knew of the question.
 *
 * @throws {Error} When it succeeds.
 */
export async function errorOf<Reason = Error>(promise: Promise<unknown> | undefined): Promise<Reason> {
  try {
    await promise;
  } catch (reason) {
    return reason as Reason;
  }
  throw new Error("It succeeded, and a failure was expected");
}
