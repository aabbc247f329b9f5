/**
 * What a promise fails with. `expect(promise).rejects` would run the event loop inside itself, where what comes later
 * overtakes what waits outside: a browser's driver got an answer before it knew of the question.
 *
 * @throws {Error} When it succeeds.
 */
export async function errorOf<Reason = Error>(promise: Promise<unknown> | undefined): Promise<Reason> {
  const outcome = await Promise.resolve(promise).then(
    () => ({ failed: false, reason: undefined }),
    (reason: unknown) => ({ failed: true, reason }),
  );
  if (!outcome.failed) throw new Error("It succeeded, and a failure was expected");
  return outcome.reason as Reason;
}
