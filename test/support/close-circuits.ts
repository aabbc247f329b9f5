import type { InProcessGateway } from "./in-process.ts";

/** More than the failures of one test. */
const successes = 20;

/**
 * Closes the circuits of all routes, as calls that work do, so that the failures of one test do not pause a route for the next.
 */
export async function closeCircuits({ app, store }: Pick<InProcessGateway, "app" | "store">): Promise<void> {
  const accounts = await store.db.selectFrom("accounts").select("id").execute();
  for (const { routes } of app.kernel.registry.modelEntries) {
    for (const { circuitBreaker, health } of routes) {
      for (let call = 0; call < successes; call++) {
        for (const { id } of accounts) {
          circuitBreaker.onSuccess(id);
          health.onSuccess(id);
        }
      }
    }
  }
}
