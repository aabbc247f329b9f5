import { Elysia } from "elysia";
import { GatewayError } from "../contract/index.ts";
import type { HttpGround } from "./ground.ts";

/** GET /metrics on the API's port, for those who carry the token of the operator. */
export function metricsController({ isAllowed, scrape }: NonNullable<HttpGround["metrics"]>) {
  return new Elysia().get(
    "/metrics",
    async ({ request }) => {
      if (isAllowed(request.headers.get("authorization"))) return await scrape();
      const sentence = "Metrics are for the operator: send METRICS_TOKEN in the header 'Authorization: Bearer …'";
      throw new GatewayError("invalid_api_key", sentence);
    },
    { detail: { hide: true } },
  );
}
