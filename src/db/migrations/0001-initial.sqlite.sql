-- Days are the sums of hours.

create trigger usage_days_of_new_hour after insert on usage_hours begin
  insert into usage_days (account_id, day, model,
    requests, failures, input_tokens, audio_input_tokens, cache_read_tokens, cache_write_tokens, cache_write_1h_tokens,
    output_tokens, audio_output_tokens, image_output_tokens, images, audio_ms, characters, call_units, cost_nanodollars,
    charged_nanodollars, quota_tokens)
  values (new.account_id, new.hour / 24, new.model,
    new.requests, new.failures, new.input_tokens, new.audio_input_tokens, new.cache_read_tokens, new.cache_write_tokens,
    new.cache_write_1h_tokens, new.output_tokens, new.audio_output_tokens, new.image_output_tokens, new.images,
    new.audio_ms, new.characters, new.call_units, new.cost_nanodollars, new.charged_nanodollars, new.quota_tokens)
  on conflict (account_id, day, model) do update set
    requests = usage_days.requests + excluded.requests, failures = usage_days.failures + excluded.failures,
    input_tokens = usage_days.input_tokens + excluded.input_tokens,
    audio_input_tokens = usage_days.audio_input_tokens + excluded.audio_input_tokens,
    cache_read_tokens = usage_days.cache_read_tokens + excluded.cache_read_tokens,
    cache_write_tokens = usage_days.cache_write_tokens + excluded.cache_write_tokens,
    cache_write_1h_tokens = usage_days.cache_write_1h_tokens + excluded.cache_write_1h_tokens,
    output_tokens = usage_days.output_tokens + excluded.output_tokens,
    audio_output_tokens = usage_days.audio_output_tokens + excluded.audio_output_tokens,
    image_output_tokens = usage_days.image_output_tokens + excluded.image_output_tokens,
    images = usage_days.images + excluded.images, audio_ms = usage_days.audio_ms + excluded.audio_ms,
    characters = usage_days.characters + excluded.characters, call_units = usage_days.call_units + excluded.call_units,
    cost_nanodollars = usage_days.cost_nanodollars + excluded.cost_nanodollars,
    charged_nanodollars = usage_days.charged_nanodollars + excluded.charged_nanodollars,
    quota_tokens = usage_days.quota_tokens + excluded.quota_tokens;
end;

create trigger usage_days_of_hour after update on usage_hours begin
  update usage_days set
    requests = requests + new.requests - old.requests, failures = failures + new.failures - old.failures,
    input_tokens = input_tokens + new.input_tokens - old.input_tokens,
    audio_input_tokens = audio_input_tokens + new.audio_input_tokens - old.audio_input_tokens,
    cache_read_tokens = cache_read_tokens + new.cache_read_tokens - old.cache_read_tokens,
    cache_write_tokens = cache_write_tokens + new.cache_write_tokens - old.cache_write_tokens,
    cache_write_1h_tokens = cache_write_1h_tokens + new.cache_write_1h_tokens - old.cache_write_1h_tokens,
    output_tokens = output_tokens + new.output_tokens - old.output_tokens,
    audio_output_tokens = audio_output_tokens + new.audio_output_tokens - old.audio_output_tokens,
    image_output_tokens = image_output_tokens + new.image_output_tokens - old.image_output_tokens,
    images = images + new.images - old.images, audio_ms = audio_ms + new.audio_ms - old.audio_ms,
    characters = characters + new.characters - old.characters,
    call_units = call_units + new.call_units - old.call_units,
    cost_nanodollars = cost_nanodollars + new.cost_nanodollars - old.cost_nanodollars,
    charged_nanodollars = charged_nanodollars + new.charged_nanodollars - old.charged_nanodollars,
    quota_tokens = quota_tokens + new.quota_tokens - old.quota_tokens
  where account_id = new.account_id and day = new.hour / 24 and model = new.model;
end;
