import { GatewayError } from "../../contract/index.ts";
import { type SessionUser, takeAttempt } from "../../identity/index.ts";
import { findSmtp, sendEmail, toHarmlessText } from "../../mail/index.ts";
import type { HttpDeps } from "../deps.ts";

/** Somebody who signed up here must not send mail to strangers in the operator's name. */
const invitationLimit = { max: 20, windowMs: 3_600_000, what: "invitations by e-mail" };
/** One person's, who may have claimed any address. */
const verificationLimit = { max: 3, windowMs: 86_400_000, what: "links to verify this e-mail" };
/** Limit over all accounts that one client opens. */
const clientLimit = { max: 30, windowMs: 3_600_000, what: "links to verify e-mails from here" };

type Link = { readonly to: string; readonly token: string; readonly expiresAt: number } & (
  | { readonly kind: "account" | "verification" }
  /** With the name of the team. */
  | { readonly kind: "team"; readonly team: string }
);

/** Sends links by the mail server, where there is one and PUBLIC_URL says where links lead. */
export function createLinkMail(deps: HttpDeps) {
  const { store, config, log, now } = deps;
  const { publicUrl } = config;
  const findServer = async () => (publicUrl === undefined ? undefined : await findSmtp(deps));
  const expectServer = async (what: string) => {
    if ((await findServer()) !== undefined) return;
    throw new GatewayError("conflict", `${what} can be sent by e-mail only with a mail server and PUBLIC_URL`);
  };
  return {
    /** Whether this person may send invitations, which name their e-mail as the sender. */
    mayInvite: async ({ emailVerified }: SessionUser) => emailVerified && (await findServer()) !== undefined,
    /** To be called before the invitation is created. @throws {GatewayError} `conflict`, `rate_limit_exceeded` */
    async expectInvitation(by: SessionUser): Promise<void> {
      if (!by.emailVerified) {
        const message = "Invitations are sent in the name of your e-mail, which is not verified; verify it first";
        throw new GatewayError("conflict", message);
      }
      await expectServer("Invitations");
      await takeAttempt(store, `mail:${by.ownAccountId}`, invitationLimit, now());
    },
    /**
     * To be called before the link is created.
     *
     * @param network The client's IPv4 address or IPv6 /64.
     * @throws {GatewayError} `conflict`, `rate_limit_exceeded`
     */
    async expectVerification(by: SessionUser, network: string): Promise<void> {
      await expectServer("Links to verify an e-mail");
      await takeAttempt(store, `verify:network:${network}`, clientLimit, now());
      await takeAttempt(store, `verify:${by.userId}`, verificationLimit, now());
    },
    /** The link stays good when it cannot be sent. Returns why. */
    async send({ email: by }: SessionUser, link: Link): Promise<string | undefined> {
      try {
        const smtp = await findServer();
        if (smtp === undefined) return "The mail server is no longer configured";
        await sendEmail(smtp, [link.to], toMail(by, link, publicUrl as string));
        return undefined;
      } catch (error) {
        log.warn("link_not_sent", { kind: link.kind, error });
        return error instanceof Error && error.name === "DeliveryError"
          ? error.message
          : "The message could not be sent";
      }
    },
  };
}

function toMail(by: string, link: Link, publicUrl: string) {
  const { fragment, subject, first, action } = toWords(by, link);
  const until = `${new Date(link.expiresAt).toISOString().slice(0, 16).replace("T", " ")} UTC`;
  const text = [
    `${first} on modelgate at ${publicUrl}.`,
    `Open this link to ${action}. It works once, until ${until}:`,
    `${publicUrl}/#${fragment}=${link.token}`,
    "If you did not expect this message, ignore it.",
  ].join("\n\n");
  return { id: `inv_${crypto.randomUUID()}`, subject, text };
}

function toWords(by: string, link: Link): { fragment: string; subject: string; first: string; action: string } {
  switch (link.kind) {
    case "team": {
      const name = toHarmlessText(link.team);
      const first = `${by} invites you to the team ${name}`;
      return { fragment: "team", subject: `Invitation to the team ${name}`, first, action: "join it" };
    }
    case "account": {
      const first = `${by} invites you to sign in as ${link.to}`;
      return { fragment: "invitation", subject: "Your account on modelgate", first, action: "choose a password" };
    }
    case "verification": {
      // Nothing in it is of the sender's choice: they may have claimed a stranger's address.
      const first = `Someone, probably you, created an account with the address ${link.to}`;
      const action = "verify the address, in the browser where you are signed in to that account";
      return { fragment: "verify-email", subject: "Verify your address on modelgate", first, action };
    }
  }
}
