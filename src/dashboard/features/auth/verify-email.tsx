import { useEffect } from "react";
import { mutate } from "swr";
import { type Me, sendEmailVerification, verifyEmail } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useLinkToken } from "./link-token.ts";

/**
 * Takes the token of a link such as `/#verify-email=…` as soon as its user is signed in; until the sign-in it is kept in the tab.
 */
export function useEmailLink(me: Me | undefined): void {
  const [token, dismiss] = useLinkToken("verify-email", true);
  const isReady = me?.password_is_temporary === false;
  useEffect(() => {
    if (token === undefined || !isReady) return;
    dismiss();
    verifyEmail(token)
      .then(({ email }) => toast(`${email} is verified`), toastError)
      .finally(() => mutate("me"));
  }, [token, isReady, dismiss]);
}

/** Asks for such a link. */
export function VerifyEmailButton() {
  const { run, isBusy } = useAction(async () => {
    try {
      await sendEmailVerification();
      toast("Link sent: open it in this browser");
    } catch (error) {
      toastError(error);
    }
  });
  return (
    <LinkButton onClick={() => void run()} disabled={isBusy}>
      Send a link to verify it
    </LinkButton>
  );
}
