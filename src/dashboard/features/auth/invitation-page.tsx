import useSWRImmutable from "swr/immutable";
import { api, request, toMessage } from "../../data/api.ts";
import { reloadSession, signIn } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { NewPasswordField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";

/** Accepts an invitation: its link sets a password, once. */
export function InvitationPage({ token, onDismiss }: { token: string; onDismiss: () => void }) {
  const look = () => request(api.invitations.account.post({ token }));
  const { data, error } = useSWRImmutable(["invitation", token], look, { shouldRetryOnError: false });
  const form = useForm({ password: "" }, async ({ password }) => {
    const { email } = await request(api.invitations.accept.post({ token, password }));
    // With two-step sign-in on, this continues at the sign-in form.
    await signIn(email, password);
    onDismiss();
    await reloadSession();
  });
  return (
    <AuthCard
      title="Welcome"
      description={data && `${data.invited_by ?? "The operator of this gateway"} invited you to an account of it.`}
      foot={<LinkButton onClick={onDismiss}>Sign in to another account</LinkButton>}
    >
      <Callout tone="bad">{error && toMessage(error)}</Callout>
      {data !== undefined && (
        <Form form={form} isNative>
          <TextField
            label="Email"
            name="email"
            type="email"
            autoComplete="username"
            readOnly
            value={data.email}
            onText={() => undefined}
            hint="You sign in with it"
          />
          <NewPasswordField name="password" autoFocus {...form.field("password")} />
          <Submit form={form} label="Set password and sign in" busyLabel="Setting…" look="primary wide" />
        </Form>
      )}
    </AuthCard>
  );
}
