import { Elysia } from "elysia";
import { formatUsd } from "../../contract/index.ts";
import { describeRoutes, type RunningCall } from "../../kernel/index.ts";
import { type DeskGround, signedInAdmin } from "../session.ts";
import { isoOf } from "./figures.ts";

const detail = { hide: true };
/** More than anyone reads; the count tells of the rest. */
const liveShownMax = 200;

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
    .get(
      "/live",
      async () => {
        const running = [...ground.gate.running];
        running.sort((one, other) => one.progress.openedAt - other.progress.openedAt);
        const shown = running.slice(0, liveShownMax);
        const emails = await desk.emailsOf(shown.map(({ caller }) => caller.accountId));
        return { count: running.length, data: shown.map((call) => liveFigures(call, emails, ground.now())) };
      },
      { detail },
    )
    .get("/settings", () => ({ data: desk.operation.settings(), version: ground.version }), { detail });
}

function liveFigures(
  { capability, caller, progress, outlet }: RunningCall,
  emails: ReadonlyMap<string, string>,
  now: number,
) {
  const { id, openedAt, model, route, attempts, firstByteMs, hold } = progress;
  return {
    id,
    at: isoOf(openedAt),
    running_ms: Math.max(0, now - openedAt),
    account: caller.accountId,
    email: emails.get(caller.accountId) ?? null,
    key_id: caller.keyId,
    capability,
    stream: outlet !== undefined,
    model: model ?? null,
    route: route ?? null,
    attempts,
    first_byte_ms: firstByteMs ?? null,
    held_usd: hold === undefined ? null : formatUsd(hold.heldNanodollars),
  };
}
