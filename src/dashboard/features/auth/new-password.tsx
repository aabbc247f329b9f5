import { changePassword, type Me, reloadSession } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { NewPasswordField, PasswordField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";
import { signOut } from "./sign-out.ts";

/**
 * Shown after signing in with a generated password.
 *
 * @param typedPassword The password that was typed a moment ago. It is held in memory alone; after a reload the form asks for it.
 */
export function NewPassword({ me, typedPassword = "" }: { me: Me; typedPassword?: string | undefined }) {
  const form = usePasswordForm(reloadSession, typedPassword);
  const isTyped = form.values.currentPassword === typedPassword && form.fieldError("currentPassword") === undefined;
  return (
    <AuthCard
      title="Choose a new password"
      description={`You are signed in as ${me.email} with a generated password. Replace it to continue.`}
      foot={<LinkButton onClick={() => void signOut().then(reloadSession)}>Sign out</LinkButton>}
    >
      <Form form={form} isNative>
        <PasswordFields form={form} email={me.email} autoFocus asksCurrent={typedPassword === "" || !isTyped} />
        <Submit form={form} label="Change password" busyLabel="Changing…" look="primary wide" />
      </Form>
    </AuthCard>
  );
}

export function usePasswordForm(onChanged: () => unknown, currentPassword = "") {
  return useForm({ currentPassword, newPassword: "" }, async ({ currentPassword, newPassword }) => {
    await changePassword(currentPassword, newPassword);
    await onChanged();
  });
}

/** The present and the new password; the hidden e-mail is for password managers. */
export function PasswordFields({
  form,
  email,
  autoFocus = false,
  asksCurrent = true,
}: {
  form: ReturnType<typeof usePasswordForm>;
  email: string;
  autoFocus?: boolean;
  asksCurrent?: boolean;
}) {
  return (
    <>
      <input type="text" name="email" autoComplete="username" value={email} readOnly hidden />
      {asksCurrent && (
        <PasswordField
          label="Current password"
          name="current"
          autoComplete="current-password"
          required
          autoFocus={autoFocus}
          {...form.field("currentPassword")}
        />
      )}
      <NewPasswordField autoFocus={autoFocus && !asksCurrent} {...form.field("newPassword")} />
    </>
  );
}
