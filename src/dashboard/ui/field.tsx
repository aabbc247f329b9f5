import { type InputHTMLAttributes, type ReactNode, useId, useState } from "react";
import { Icon } from "./icon.tsx";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  /** What is wrong with it. */
  wrong?: string | undefined;
}

/** A label with what it labels, its hint and what is wrong with it, tied together for screen readers. */
export function Field({
  label,
  hint,
  wrong,
  children,
}: FieldProps & {
  children: (tied: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}) {
  const id = useId();
  const isDescribed = wrong !== undefined || hint !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(isDescribed && { "aria-describedby": `${id}-more` }),
        ...(wrong !== undefined && { "aria-invalid": true }),
      })}
      {isDescribed && (
        <span id={`${id}-more`} className={wrong === undefined ? "hint" : "wrong"} role={wrong && "alert"}>
          {wrong ?? hint}
        </span>
      )}
    </div>
  );
}

type InputProps = FieldProps &
  Omit<InputHTMLAttributes<HTMLInputElement>, "onChange" | "value"> & {
    value: string;
    onText: (text: string) => void;
  };

/** A line of text with its label. */
export function TextField({ label, hint, wrong, onText, ...input }: InputProps) {
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(tied) => <input {...tied} {...input} className="input" onChange={(event) => onText(event.target.value)} />}
    </Field>
  );
}

/** A password, which can be looked at. */
export function PasswordField({ label, hint, wrong, onText, ...input }: InputProps) {
  const [isShown, setShown] = useState(false);
  return (
    <Field label={label} hint={hint} wrong={wrong}>
      {(tied) => (
        <div className="password">
          <input
            {...tied}
            {...input}
            className="input"
            type={isShown ? "text" : "password"}
            onChange={(event) => onText(event.target.value)}
          />
          <button
            type="button"
            aria-label="Show the password"
            aria-pressed={isShown}
            onClick={() => setShown(!isShown)}
          >
            <Icon name="eye" size={17} />
          </button>
        </div>
      )}
    </Field>
  );
}
