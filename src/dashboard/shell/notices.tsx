import { useRef } from "react";
import { Link } from "wouter";
import { isUnauthorized, useGateway } from "../data/api.ts";
import { useMe } from "../data/session.ts";
import { VerifyEmailButton } from "../features/auth/verify-email.tsx";
import { LinkButton } from "../kit/button.tsx";
import { Callout } from "../kit/feedback.tsx";

/** What concerns every page: the gateway is away, was upgraded, or simulates its answers; the email is not verified. */
export function Notices({ isAdmin }: { isAdmin: boolean }) {
  const { data: me, error } = useMe();
  const { data: gateway } = useGateway();
  const opened = useRef<string>(undefined);
  opened.current ??= gateway?.version;
  const isAway = error !== undefined && !isUnauthorized(error);
  const isUpgraded = gateway !== undefined && gateway.version !== opened.current;
  return (
    <section className="notices" aria-label="Notices">
      {isAway && <Callout tone="warn">The gateway doesn't respond. What you see may be out of date. Retrying…</Callout>}
      {isUpgraded && (
        <Callout>
          modelgate was upgraded to {gateway.version}.{" "}
          <LinkButton onClick={() => location.reload()}>Reload this page</LinkButton>
        </Callout>
      )}
      {me?.email_verified === false && (
        <Callout tone="warn">
          Your email {me.email} isn't verified, which limits your free quota and the emails you get.{" "}
          <VerifyEmailButton />
        </Callout>
      )}
      {gateway?.sandbox === true && (
        <Callout tone="warn">
          Sandbox: all answers are simulated, and no provider is called or paid. Amounts in dollars are for show.
          {isAdmin && (
            <>
              {" "}
              <Link href="/admin/plugins">Add a provider</Link>
            </>
          )}
        </Callout>
      )}
    </section>
  );
}
