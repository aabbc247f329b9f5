import { changePassword, type Me, reloadSession } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { NewPasswordField, PasswordField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";
import { signOut } from "./sign-out.ts";

/** Shown after signing in with a generated password. */
export function NewPassword({ me }: { me: Me }) {
  const form = usePasswordForm(reloadSession);
  return (
    <AuthCard
      title="Choose a new password"
      description={`You are signed in as ${me.email} with a generated password. Replace it to continue.`}
      foot={<LinkButton onClick={() => void signOut().then(reloadSession)}>Sign out</LinkButton>}
    >
      <Form form={form} isNative>
        <PasswordFields form={form} email={me.email} autoFocus />
        <Submit form={form} label="Change password" busyLabel="Changing…" look="primary wide" />
      </Form>
    </AuthCard>
  );
}

export function usePasswordForm(onChanged: () => unknown) {
  return useForm({ currentPassword: "", newPassword: "" }, async ({ currentPassword, newPassword }) => {
    await changePassword(currentPassword, newPassword);
    await onChanged();
  });
}

/** The present and the new password; the hidden e-mail is for password managers. */
export function PasswordFields({
  form,
  email,
  autoFocus = false,
}: {
  form: ReturnType<typeof usePasswordForm>;
  email: string;
  autoFocus?: boolean;
}) {
  return (
    <>
      <input type="text" name="email" autoComplete="username" value={email} readOnly hidden />
      <PasswordField
        label="Current password"
        name="current"
        autoComplete="current-password"
        required
        autoFocus={autoFocus}
        {...form.field("currentPassword")}
      />
      <NewPasswordField {...form.field("newPassword")} />
    </>
  );
}
