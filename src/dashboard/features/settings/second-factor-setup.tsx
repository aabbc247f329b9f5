import { mutate } from "swr";
import { encode } from "uqr";
import { verifyCode } from "../../data/session.ts";
import { CopyButton } from "../../kit/copy.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";

/** Shows the TOTP secret and backup codes, and verifies the first code. */
export function SecondFactorSetup({
  setup: { totpURI, backupCodes },
  onClose,
}: {
  setup: { totpURI: string; backupCodes: readonly string[] };
  onClose: () => void;
}) {
  const form = useForm({ code: "" }, async ({ code }) => {
    await verifyCode(code, false);
    await mutate("me");
    toast("Two-step sign-in is on");
    onClose();
  });
  const secret = new URL(totpURI).searchParams.get("secret") ?? "";
  return (
    <FormDialog
      title="Set up two-step sign-in"
      isPersistent
      isWide
      // The error is shown at the code, below the steps.
      form={{ ...form, error: undefined }}
      label="Turn on"
      busyLabel="Checking…"
      isComplete={form.values.code.trim() !== ""}
      onClose={onClose}
    >
      <div className="enrol">
        <QrCode text={totpURI} />
        <div className="stack">
          <p>1. Scan this QR code with an authenticator app, or enter the secret manually:</p>
          <div className="secret">
            <code data-totp={totpURI}>{secret}</code>
            <CopyButton text={secret} label="Copy secret" />
          </div>
        </div>
      </div>
      <div className="stack stack-tight">
        <p>2. Save these backup codes where you can reach them without your phone. Each works once.</p>
        <div className="codes mono">
          {backupCodes.map((backupCode) => (
            <span key={backupCode}>{backupCode}</span>
          ))}
        </div>
        <div className="row">
          <CopyButton text={backupCodes.join("\n")} label="Copy backup codes" />
        </div>
      </div>
      <Callout tone="bad">{form.error}</Callout>
      <TextField
        label="3. Enter the 6-digit code from the app"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={10}
        {...form.field("code")}
      />
    </FormDialog>
  );
}

/** One SVG path; black on white in both themes, because scanners need the contrast. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code with the secret">
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join("")} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
