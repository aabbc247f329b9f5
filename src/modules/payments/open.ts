import { type Config, getPublicOrigin } from "../../config/index.ts";
import type { ModuleParts, OpenModule } from "../module.ts";
import { checkoutRoutes, voucherRoutes } from "./page-routes.ts";
import { createCheckout, type Payments } from "./payments.ts";
import { settings } from "./settings.ts";
import { webhookRoutes } from "./webhooks.ts";

/** @param payments The payment provider; absent: only vouchers are redeemed. */
export function openPayments(
  { config, log, now }: Pick<ModuleParts, "config" | "log" | "now">,
  payments: Payments | undefined,
): OpenModule {
  const publicOrigin = getPublicOrigin(config, config.port);
  const report = (error: unknown) => log.error("payment_failed", { error });
  const beginPayment = createCheckout({ payments, publicOrigin, now, report });
  return {
    facts: () => ({ payments: payments?.name ?? null }),
    pageRoutes: (deps) => [...voucherRoutes(deps), ...checkoutRoutes(deps, beginPayment)],
    routes: (deps) => webhookRoutes(deps, payments),
  };
}

/** Imported only when configured, because the package is large. */
export async function loadStripe(config: Config): Promise<Payments | undefined> {
  const { stripeSecretKey: secretKey, stripeWebhookSecret: webhookSecret } = config.of(settings);
  if (secretKey === undefined || webhookSecret === undefined) return undefined;
  const { openStripe } = await import("./stripe.ts");
  return openStripe({ secretKey, webhookSecret });
}
