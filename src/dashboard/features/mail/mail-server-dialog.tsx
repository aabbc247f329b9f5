import { PasswordField, SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { type SmtpServer, setSmtp } from "./api.ts";

type Encryption = "starttls" | "tls";

const encryptions = [
  ["starttls", "STARTTLS (port 587)"],
  ["tls", "TLS (port 465)"],
] as const;

/** The form of the mail server. Its password is written and never read. */
export function MailServerDialog({ smtp, onClose }: { smtp: SmtpServer | null; onClose: () => void }) {
  const initial = {
    host: smtp?.host ?? "",
    port: String(smtp?.port ?? 587),
    from: smtp?.from ?? "",
    tls: (smtp?.tls === true ? "tls" : "starttls") as Encryption,
    user: smtp?.user ?? "",
    password: "",
  };
  const form = useForm(initial, async ({ host, port, tls, user, password, from }) => {
    await setSmtp({
      host: host.trim(),
      port: Number(port),
      tls: tls === "tls",
      from: from.trim(),
      ...(user.trim() !== "" && { user: user.trim() }),
      ...(password !== "" && { password }),
    });
    onClose();
  });
  const { host, from } = form.values;
  return (
    <FormDialog title="Mail server" form={form} isComplete={host.trim() !== "" && from.trim() !== ""} onClose={onClose}>
      <TextField label="Host" autoComplete="off" placeholder="mail.example.com" autoFocus {...form.field("host")} />
      <TextField label="Port" inputMode="numeric" autoComplete="off" {...form.field("port")} />
      <SelectField
        label="Encryption"
        options={encryptions}
        value={form.values.tls}
        onText={(tls) => form.set({ tls })}
      />
      <TextField label="User (optional)" autoComplete="off" {...form.field("user")} />
      <PasswordField
        label="Password"
        autoComplete="new-password"
        {...form.field("password")}
        hint={smtp?.has_password ? "Leave empty to keep the current one" : undefined}
      />
      <TextField label="Sender" type="email" placeholder="gateway@example.com" {...form.field("from")} />
    </FormDialog>
  );
}
