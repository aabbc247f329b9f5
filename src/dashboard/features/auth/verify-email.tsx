import { useEffect, useState } from "react";
import { mutate } from "swr";
import { type Me, sendEmailVerification, verifyEmail } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";

const storageKey = "modelgate-verify-email";

/**
 * Takes the token of a link such as `/#verify-email=…` as soon as its user is signed in. It is in the hash so that it never
 * reaches a server log; until the sign-in it is kept in the tab.
 */
export function useEmailLink(me: Me | undefined): void {
  const [token, setToken] = useState(consumeToken);
  useEffect(() => {
    const onHash = () => setToken((current) => consumeToken() ?? current);
    addEventListener("hashchange", onHash);
    return () => removeEventListener("hashchange", onHash);
  }, []);
  const isReady = me?.password_is_temporary === false;
  useEffect(() => {
    if (token === undefined || !isReady) return;
    setToken(undefined);
    withStorage((storage) => storage.removeItem(storageKey));
    verifyEmail(token)
      .then(({ email }) => toast(`${email} is verified`), toastError)
      .finally(() => mutate("me"));
  }, [token, isReady]);
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

function consumeToken(): string | undefined {
  const token = new URLSearchParams(location.hash.slice(1)).get("verify-email") ?? undefined;
  if (token === undefined) return withStorage((storage) => storage.getItem(storageKey)) ?? undefined;
  history.replaceState(null, "", location.pathname);
  withStorage((storage) => storage.setItem(storageKey, token));
  return token;
}

function withStorage<T>(use: (storage: Storage) => T): T | undefined {
  try {
    return use(sessionStorage);
  } catch {
    // Storage is blocked: the link is known until the page is left.
    return undefined;
  }
}
