import { useState } from "react";
import { mutate } from "swr";
import { encode } from "uqr";
import { giveCode } from "../../data/session.ts";
import { Callout } from "../../ui/callout.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Gives the secret to an authenticator, shows the codes to be written down, and takes the first code. */
export function Enrolment({
  begun: { totpURI, backupCodes },
  onClose,
}: {
  begun: { totpURI: string; backupCodes: readonly string[] };
  onClose: () => void;
}) {
  const [code, setCode] = useState("");
  const action = useAction(async () => {
    await giveCode(code, false);
    await mutate("me");
    toast("From now on a sign-in takes a code as well");
    onClose();
  });
  const secret = new URL(totpURI).searchParams.get("secret") ?? "";
  const wrong = action.otherThan();
  return (
    <FormDialog
      title="Set up two-step sign-in"
      isConfirmed
      isWide
      verbs={["Switch on", "Checking…"]}
      action={action}
      isWhole={code.trim() !== ""}
      onClose={onClose}
    >
      <div className="enrol">
        <QrCode text={totpURI} />
        <div className="stack">
          <p>1. Scan this with an authenticator app, or type its secret there:</p>
          <div className="secret">
            <code data-totp={totpURI}>{secret}</code>
            <CopyButton text={secret} label="Copy the secret" />
          </div>
        </div>
      </div>
      <div className="stack stack-tight">
        <p>2. Keep these codes where you find them without your phone. Each signs in once.</p>
        <div className="codes mono">
          {backupCodes.map((written) => (
            <span key={written}>{written}</span>
          ))}
        </div>
        <div className="row">
          <CopyButton text={backupCodes.join("\n")} label="Copy the codes" />
        </div>
      </div>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <TextField
        label="3. The code that the app shows now"
        inputMode="numeric"
        autoComplete="one-time-code"
        required
        maxLength={10}
        value={code}
        onText={setCode}
      />
    </FormDialog>
  );
}

/** As one path, black on white in both colour schemes: cameras want it so. */
function QrCode({ text }: { text: string }) {
  const { data, size } = encode(text, { border: 2 });
  const squares = data.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : [])));
  return (
    <svg className="qr" viewBox={`0 0 ${size} ${size}`} role="img" aria-label="QR code of the secret below">
      <rect width={size} height={size} fill="#fff" />
      <path d={squares.join("")} fill="#000" shapeRendering="crispEdges" />
    </svg>
  );
}
