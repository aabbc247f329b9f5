import { useState } from "react";
import { reloadSession, verifyCode } from "../../data/session.ts";
import { LinkButton } from "../../kit/button.tsx";
import { TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { AuthCard } from "./auth-card.tsx";

export function CodeForm({ onBack }: { onBack: () => void }) {
  const [isBackupCode, setBackupCode] = useState(false);
  const form = useForm({ code: "" }, async ({ code }) => {
    await verifyCode(code, isBackupCode);
    await reloadSession();
  });
  const change = () => {
    setBackupCode(!isBackupCode);
    form.reset();
  };
  return (
    <AuthCard
      title="Two-step sign-in"
      description={isBackupCode ? "Enter one of your backup codes." : "Enter the code from your authenticator app."}
      foot={<LinkButton onClick={onBack}>Back to sign-in</LinkButton>}
    >
      <Form form={form} isNative>
        <TextField
          key={String(isBackupCode)}
          label={isBackupCode ? "Backup code" : "6-digit code"}
          name="code"
          inputMode={isBackupCode ? "text" : "numeric"}
          autoComplete="one-time-code"
          spellCheck={false}
          required
          autoFocus
          maxLength={40}
          {...form.field("code")}
        />
        <Submit form={form} label="Continue" busyLabel="Checking…" look="primary wide" />
        <LinkButton onClick={change}>{isBackupCode ? "Use authenticator app" : "Use a backup code"}</LinkButton>
      </Form>
    </AuthCard>
  );
}
