import { defineSettings, matching, secret } from "../../config/index.ts";

/** Both absent: no payments are accepted. */
export const settings = defineSettings({
  after: "JWT_NETWORKS",
  settings: {
    stripeSecretKey: secret(
      "STRIPE_SECRET_KEY",
      matching(/^(sk|rk)_[A-Za-z0-9_]{8,}$/, "a Stripe secret key such as sk_live_…"),
    ),
    stripeWebhookSecret: secret(
      "STRIPE_WEBHOOK_SECRET",
      matching(/^whsec_[A-Za-z0-9+/=_-]{8,}$/, "the signing secret of the Stripe webhook such as whsec_…"),
    ),
  },
  together: [["stripeSecretKey", "stripeWebhookSecret"]],
});
