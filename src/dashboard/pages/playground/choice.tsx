import { Field } from "../../ui/field.tsx";

/** One of a few words. */
export function Choice({
  label,
  value,
  options,
  onChoose,
}: {
  label: string;
  value: string;
  options: readonly string[];
  onChoose: (value: string) => void;
}) {
  return (
    <Field label={label}>
      {(tied) => (
        <select {...tied} className="input" value={value} onChange={(event) => onChoose(event.target.value)}>
          {options.map((name) => (
            <option key={name}>{name}</option>
          ))}
        </select>
      )}
    </Field>
  );
}
