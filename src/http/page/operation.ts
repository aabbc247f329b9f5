import { Elysia } from "elysia";
import { describeRoutes } from "../../kernel/index.ts";
import { type DeskGround, signedInAdmin } from "../session.ts";
import { isoOf } from "./figures.ts";
import { liveCalls } from "./live.ts";

const detail = { hide: true };

/** What administrators see of the gateway at work. Nothing here changes anything. */
export function adminOperationController(ground: DeskGround) {
  const { desk, kernel } = ground;
  return new Elysia({ prefix: "/admin" })
    .use(signedInAdmin(ground))
    .get(
      "/plugins",
      () => ({
        data: desk.operation.plugins().map((report) => ({ ...report, loaded_at: isoOf(report.loaded_at) })),
        warnings: ground.warnings(),
        degraded: ground.degraded?.() ?? [],
      }),
      { detail },
    )
    .get(
      "/catalogue",
      () => {
        const now = ground.now();
        return {
          data: [...kernel.registry.offers].map((offer) => {
            const { id, aliases, capability, premium, ownedBy, price, retiredOn, successor, checkedOn } = offer.model;
            return {
              ...{ id, capability, premium, aliases: aliases ?? [], owned_by: ownedBy, price: price ?? null },
              ...{ retired_on: retiredOn ?? null, successor: successor ?? null, checked_on: checkedOn ?? null },
              routes: describeRoutes(offer, now),
            };
          }),
        };
      },
      { detail },
    )
    .get("/live", () => liveCalls(ground), { detail })
    .get("/settings", () => ({ data: desk.operation.settings(), version: ground.version }), { detail });
}
