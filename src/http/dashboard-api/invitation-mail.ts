import { type SessionUser, takeAttempt } from "../../accounts/index.ts";
import { findSmtp, sendEmail } from "../../alerts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { HttpDeps } from "../deps.ts";

/** Somebody who signed up here must not send mail to strangers in the operator's name. */
const mailLimit = { max: 20, windowMs: 3_600_000, what: "invitations by e-mail" };

interface Invitation {
  readonly kind: "team" | "account";
  readonly to: string;
  readonly token: string;
  readonly expiresAt: number;
  /** The name of the team. */
  readonly team?: string;
}

/** Sends links of invitations by the mail server of alerts, where there is one and PUBLIC_URL says where links lead. */
export function createInvitationMail({ store, sealKey: key, config, log, now }: HttpDeps) {
  const { publicUrl } = config;
  const findServer = async () =>
    publicUrl === undefined ? undefined : await findSmtp({ store, key, config, log, now });
  return {
    isPossible: async () => (await findServer()) !== undefined,
    /** To be called before the invitation is created. @throws {GatewayError} `conflict`, `rate_limit_exceeded` */
    async expectPossible(by: SessionUser): Promise<void> {
      if ((await findServer()) === undefined) {
        throw new GatewayError("conflict", "Invitations can be sent by e-mail only with a mail server and PUBLIC_URL");
      }
      await takeAttempt(store, `mail:${by.ownAccountId}`, mailLimit, now());
    },
    /** The invitation stays good when it cannot be sent. Returns why. */
    async send(by: SessionUser, invitation: Invitation): Promise<string | undefined> {
      try {
        const smtp = await findServer();
        if (smtp === undefined) return "There is no mail server any more";
        await sendEmail(smtp, [invitation.to], toMail(by, invitation, publicUrl as string));
        return undefined;
      } catch (error) {
        log.warn("invitation_not_sent", { error });
        return error instanceof Error && error.name === "DeliveryError" ? error.message : "It could not be sent";
      }
    },
  };
}

function toMail({ email }: SessionUser, { kind, to, token, expiresAt, team = "" }: Invitation, publicUrl: string) {
  const until = `${new Date(expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const link = `${publicUrl}/#${kind === "team" ? "team" : "invitation"}=${token}`;
  const name = toHarmlessText(team);
  const [subject, first, action] =
    kind === "team"
      ? [`Invitation to the team ${name}`, `${email} invites you to the team ${name}`, "join it"]
      : ["Your account on modelgate", `${email} invites you to sign in as ${to}`, "choose a password"];
  const text = [
    `${first} on modelgate at ${publicUrl}.`,
    `Open this link to ${action}. It works once, until ${until}:`,
    link,
    "If you did not expect this message, ignore it.",
  ].join("\n\n");
  return { id: `inv_${crypto.randomUUID()}`, subject, text };
}

/** A name that anybody may have chosen: one short line in which mail programs find no website. */
function toHarmlessText(name: string): string {
  if (/^[\w.+-]{1,60}@[\w.-]{1,60}$/.test(name)) return name;
  return name
    .replaceAll(/[\s\p{C}]+|[./:@\\]+(?=\S)/gu, " ")
    .trim()
    .slice(0, 60);
}
