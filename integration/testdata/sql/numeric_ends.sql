-- rounding at the ends of the range
SELECT round(4.5e131071, -131072), trunc(4.5e131071, -131072), round(9.9e131071, -131073), round(-4.5e131071, -2147483648), round('Infinity'::numeric, -131072);
SELECT round(5.5e131071, -131072);
SELECT md5(round(4.5e131071, -131071)::text), md5(trunc(-4.5e131071, -131071)::text);
SELECT scale(round(1.5, 20000)), scale(trunc(1.5, 20000)), scale(round(1.5, 16383)), scale(round(1.5, 2147483647)), round(1.5, -200000), round(12345.678, -2147483648);
SELECT ceil(9.9e131071) = 9.9e131071, floor(-9.9e131071) = -9.9e131071, scale(1e-16383), min_scale(1e-16383), trim_scale(1e-16383) = 1e-16383;
-- arithmetic
SELECT 9e131071 + 9e131071;
SELECT -9e131071 - 9e131071;
SELECT 1e131071 * 10;
SELECT 1e131071 / 0.1;
SELECT div(1e131071, 0.1);
SELECT mod(1e131071, 3), mod(5, 1e131071), length(div(1e131071, 3)::text), 1e-16383 * 0.1 = 0, gcd(1e131071, 3);
SELECT lcm(9e131071, 7);
-- powers
SELECT power(10, 131071) = 1e131071, md5(power(2::numeric, 435411)::text), power(0.1, 16383), power(10::numeric, -100000);
SELECT power(2::numeric, 435412);
SELECT power(10, 131072);
SELECT md5(power(1.5::numeric, 700000)::text), md5(power(3.7, 1500.5)::text), md5(power(1.1, 60000)::text), md5(power(7.3, -500)::text);
SELECT scale(0.9::numeric ^ 1e131071), 0.9::numeric ^ 1e131071 = 0, 1::numeric ^ 1e131071, 0::numeric ^ 1e131071;
SELECT 1.1::numeric ^ 1e131071;
SELECT (-2)::numeric ^ 1e131071;
SELECT 10.0 ^ 2147483647;
SELECT 10.0 ^ -2147483648, 1.000000000123 ^ (-2147483648), 0.9999999999 ^ 23300000000000, 1.0000000001::numeric ^ 1e10, 1.1 ^ 1e-16383 = 1;
SELECT 0.5 ^ 17, 1.5 ^ 3, (-0.5) ^ 17, 2.5 ^ -3, 0.05 ^ 10.0000000000000000000, 32.1 ^ 9.8, 3 ^ 0.5::numeric, 0.12 ^ (-20), 45.12 ^ (-2.5);
-- exponentials and logarithms
SELECT md5(exp(5999.0)::text), md5(exp(5999.99)::text), exp(-5999.0) = 0, exp(1.5), exp(-3.25), exp(0.0), exp(123.456), md5(exp(1234.5678)::text), exp(-100000.0) = 0, exp(-1e131071) = 0;
SELECT exp(6000.0);
SELECT exp(1e131071);
SELECT ln(1e131071), ln(9.99e131071), ln(1e-16383)::numeric(30, 15), log(1e131071), log(9.999e131071), log(1.1, 9e131071), log(2::numeric, 1e131071), log(1e131071, 2);
SELECT ln(12345678901234567890), ln(0.99999999999999999999), ln(1.00000000000000000001), log(0.1), log(3.0, 27), md5(ln(5.80397490724e5)::text);
SELECT length(sqrt(1e131071)::text), sqrt(1e-16383) > 0;
-- histograms
SELECT width_bucket(1e131071, -9e131071, 9e131071, 100), width_bucket(5, -9e131071, 9e131071, 100), width_bucket(1e131071, 0, 9e131071, 2147483647), width_bucket(1e-16383, 0, 1e-16382, 10), width_bucket(2, 9.5, 1.5, 7);
SELECT width_bucket(9e131071, 0, 9e131071, 2147483647);
-- to_char
SELECT to_char(1e131071, '9.99EEEE'), to_char(1e-16383, '9.99EEEE'), to_char(9.9999e131071, '9.99EEEE'), to_char(9.9999, '9.99EEEE'), to_char(-0.099999, '9.99EEEE'), to_char(99995.0, '9.999EEEE'), to_char(9.6, '9EEEE');
SELECT to_char(99999, '9.99EEEE'), to_char(99999::int8, '9.99EEEE'), to_char(99999::int2, '9.99EEEE'), to_char(-99999, '9.99EEEE'), to_char(9.9999::float8, '9.99EEEE'), to_char(0, '9.9EEEE');
