import { Type } from "@sinclair/typebox";
import { createEmailVerification, verifyEmail } from "../../identity/index.ts";
import type { HttpDeps } from "../deps.ts";
import { readClientAddress, toNetwork } from "../lifecycle/http-call.ts";
import { withOwnSession } from "../lifecycle/session.ts";
import { formBody } from "../lifecycle/validate.ts";
import { createLinkMail } from "./link-mail.ts";

const Token = formBody({ token: Type.String({ minLength: 1, maxLength: 100 }) });

/** Users who signed up prove that their e-mail is theirs, by a link that is sent to it. */
export function emailController(deps: HttpDeps) {
  const { store, now, config } = deps;
  const mail = createLinkMail(deps);
  const readAddress = readClientAddress(config.trustedProxies);
  const route = withOwnSession(deps, "/email");
  return [
    route.post("/verification", async ({ user, request }) => {
      const peer = deps.server()?.requestIP(request)?.address ?? "unknown";
      const address = readAddress(peer, request.headers.get("x-forwarded-for"));
      await mail.expectVerification(user, toNetwork(address));
      const { token, expiresAt } = await createEmailVerification(store, user, now());
      const error = await mail.send(user, { kind: "verification", to: user.email, token, expiresAt });
      return { email: user.email, mail_error: error ?? null };
    }),
    route.post(
      "/verify",
      async ({ user, body: { token } }) => {
        await verifyEmail(store, user, token, now());
        return { email: user.email };
      },
      { body: Token },
    ),
  ];
}
