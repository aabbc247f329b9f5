import { useState } from "react";
import { reloadSession, verifyCode } from "../data/session.ts";
import { Callout } from "../ui/feedback.tsx";
import { TextField } from "../ui/field.tsx";
import { useAction } from "../ui/use-action.ts";
import { AuthCard } from "./auth-card.tsx";

/** The second step of two-step sign-in. */
export function CodeForm({ onBack }: { onBack: () => void }) {
  const [isBackupCode, setBackupCode] = useState(false);
  const [code, setCode] = useState("");
  const { submit, isBusy, formError, clear } = useAction(async () => {
    await verifyCode(code, isBackupCode);
    await reloadSession();
  });
  const change = () => {
    setBackupCode(!isBackupCode);
    setCode("");
    clear();
  };
  return (
    <AuthCard
      title="Two-step sign-in"
      description={isBackupCode ? "Enter one of your backup codes." : "Enter the code from your authenticator app."}
      foot={
        <button type="button" className="link" onClick={onBack}>
          Back to sign-in
        </button>
      }
    >
      <form className="stack" onSubmit={submit}>
        <Callout tone="bad">{formError()}</Callout>
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
          value={code}
          onText={setCode}
        />
        <button type="submit" className="btn btn-primary btn-wide" disabled={isBusy}>
          {isBusy ? "Checking…" : "Continue"}
        </button>
        <button type="button" className="link" onClick={change}>
          {isBackupCode ? "Use authenticator app" : "Use a backup code"}
        </button>
      </form>
    </AuthCard>
  );
}
