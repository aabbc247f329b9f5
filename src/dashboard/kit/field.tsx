import { type InputHTMLAttributes, type ReactNode, type TextareaHTMLAttributes, useId, useState } from "react";
import { Icon } from "./icon.tsx";

interface FieldProps {
  label: string;
  hint?: ReactNode;
  error?: string | undefined;
}

/** A label, a control and its hint or error message, linked for screen readers. */
export function Field({
  label,
  hint,
  error,
  children,
}: FieldProps & {
  children: (props: { id: string; "aria-describedby"?: string; "aria-invalid"?: true }) => ReactNode;
}) {
  const id = useId();
  const isDescribed = error !== undefined || hint !== undefined;
  return (
    <div className="field">
      <label htmlFor={id}>{label}</label>
      {children({
        id,
        ...(isDescribed && { "aria-describedby": `${id}-more` }),
        ...(error !== undefined && { "aria-invalid": true }),
      })}
      {isDescribed && (
        <span id={`${id}-more`} className={error === undefined ? "hint" : "wrong"} role={error && "alert"}>
          {error ?? hint}
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

export function TextField({ label, hint, error, onText, ...input }: InputProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <input {...control} {...input} className="input" onChange={(event) => onText(event.target.value)} />
      )}
    </Field>
  );
}

type TextAreaProps = FieldProps &
  Omit<TextareaHTMLAttributes<HTMLTextAreaElement>, "onChange"> & { onText: (text: string) => void };

export function TextAreaField({ label, hint, error, onText, ...area }: TextAreaProps) {
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <textarea {...control} {...area} className="input" onChange={(event) => onText(event.target.value)} />
      )}
    </Field>
  );
}

/** A password input that can be revealed. */
export function PasswordField({ label, hint, error, onText, ...input }: InputProps) {
  const [isShown, setShown] = useState(false);
  return (
    <Field label={label} hint={hint} error={error}>
      {(control) => (
        <div className="password">
          <input
            {...control}
            {...input}
            className="input"
            type={isShown ? "text" : "password"}
            onChange={(event) => onText(event.target.value)}
          />
          <button type="button" aria-label="Show password" aria-pressed={isShown} onClick={() => setShown(!isShown)}>
            <Icon name="eye" size={17} />
          </button>
        </div>
      )}
    </Field>
  );
}

/** A field for a new password, with the rule as its hint. */
export function NewPasswordField(input: Omit<InputProps, "label"> & { label?: string }) {
  return (
    <PasswordField
      label="New password"
      name="new"
      autoComplete="new-password"
      required
      hint="At least 10 characters. A few words are easy to remember and hard to guess."
      {...input}
    />
  );
}

/** A box to tick, with its label behind it. */
export function Check({ children, onCheck, ...input }: CheckProps) {
  return (
    <label className="check">
      <input type="checkbox" {...input} onChange={(event) => onCheck(event.target.checked)} />
      {children}
    </label>
  );
}

interface CheckProps {
  checked: boolean;
  disabled?: boolean;
  /** `radio` for a choice of one among several; `name` is then the name that they share. */
  type?: "radio";
  name?: string;
  onCheck: (isChecked: boolean) => void;
  children: ReactNode;
}

interface SelectProps<T extends string> {
  /** Value, label and optional group; options with a group are listed below it. */
  options: readonly (readonly [value: T, label: string, group?: string])[];
  value: T;
  onText: (value: T) => void;
  /** Options that cannot be chosen; the hint says why. */
  refused?: readonly T[] | undefined;
}

export function SelectField<T extends string>({
  options,
  value,
  onText,
  refused,
  ...field
}: FieldProps & SelectProps<T>) {
  return (
    <Field {...field}>
      {(control) => <Select {...control} options={options} value={value} onText={onText} refused={refused} />}
    </Field>
  );
}

/** A select whose label only screen readers get, or that a {@link SelectField} labels. */
export function Select<T extends string>({
  options,
  onText,
  isSmall = false,
  refused = [],
  ...props
}: SelectProps<T> & { isSmall?: boolean; id?: string; "aria-label"?: string }) {
  return (
    <select
      {...props}
      className={isSmall ? "input input-small" : "input"}
      onChange={(event) => onText(event.target.value as T)}
    >
      {[...Map.groupBy(options, ([, , group]) => group)].map(([group, members]) => {
        const choices = members.map(([key, name]) => (
          <option key={key} value={key} disabled={refused.includes(key)}>
            {name}
          </option>
        ));
        if (group === undefined) return choices;
        return (
          <optgroup key={group} label={group}>
            {choices}
          </optgroup>
        );
      })}
    </select>
  );
}

export function SearchField({
  label,
  placeholder,
  value,
  onText,
}: {
  label: string;
  placeholder: string;
  value: string;
  onText: (text: string) => void;
}) {
  return (
    <div className="search">
      <Icon name="search" size={16} />
      <input
        className="input"
        type="search"
        aria-label={label}
        placeholder={placeholder}
        value={value}
        onChange={(event) => onText(event.target.value)}
      />
    </div>
  );
}
