--
-- PostgreSQL database dump
--

\restrict DJDlBMmN1T8DyhfTD8ChdBeXqhuhCDWCPOCWVzP5PI5BYs9iE5ZmKGYTHoBtcKq

-- Dumped from database version 15.18
-- Dumped by pg_dump version 15.18 (Debian 15.18-0+deb12u1)

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

--
-- Name: dom; Type: DOMAIN; Schema: public; Owner: postgres
--

CREATE DOMAIN public.dom AS integer
	CONSTRAINT dom_check CHECK ((public.aa(VALUE, 0) > 0));


ALTER DOMAIN public.dom OWNER TO postgres;

--
-- Name: aa(integer, integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.aa(a integer, b integer DEFAULT 3) RETURNS integer
    LANGUAGE sql IMMUTABLE STRICT
    AS $$ SELECT a + b $$;


ALTER FUNCTION public.aa(a integer, b integer) OWNER TO postgres;

--
-- Name: FUNCTION aa(a integer, b integer); Type: COMMENT; Schema: public; Owner: postgres
--

COMMENT ON FUNCTION public.aa(a integer, b integer) IS 'adds';


--
-- Name: at(double precision); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.at(r double precision) RETURNS double precision
    LANGUAGE sql IMMUTABLE
    RETURN (pi() * r);


ALTER FUNCTION public.at(r double precision) OWNER TO postgres;

SET default_tablespace = '';

SET default_table_access_method = heap;

--
-- Name: t; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.t (
    id integer NOT NULL,
    v text
);


ALTER TABLE public.t OWNER TO postgres;

--
-- Name: bel(integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.bel(lim integer) RETURNS SETOF integer
    LANGUAGE sql STABLE
    BEGIN ATOMIC
 SELECT t.id
    FROM public.t
   WHERE (t.id < bel.lim);
END;


ALTER FUNCTION public.bel(lim integer) OWNER TO postgres;

--
-- Name: chain(integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.chain(a integer) RETURNS integer
    LANGUAGE sql
    AS $$ SELECT aa(a, 1) $$;


ALTER FUNCTION public.chain(a integer) OWNER TO postgres;

--
-- Name: pp(integer); Type: PROCEDURE; Schema: public; Owner: postgres
--

CREATE PROCEDURE public.pp(i integer, OUT o integer)
    LANGUAGE sql
    AS $$ SELECT i $$;


ALTER PROCEDURE public.pp(i integer, OUT o integer) OWNER TO postgres;

--
-- Name: zz(integer); Type: FUNCTION; Schema: public; Owner: postgres
--

CREATE FUNCTION public.zz(k integer) RETURNS SETOF public.t
    LANGUAGE sql STABLE
    AS $$ SELECT * FROM t WHERE id = k $$;


ALTER FUNCTION public.zz(k integer) OWNER TO postgres;

--
-- Name: u; Type: TABLE; Schema: public; Owner: postgres
--

CREATE TABLE public.u (
    a integer DEFAULT public.aa(1, 3),
    b integer,
    c integer GENERATED ALWAYS AS (public.aa(a, 4)) STORED,
    CONSTRAINT u_b_check CHECK ((public.aa(b, 1) > 0))
);


ALTER TABLE public.u OWNER TO postgres;

--
-- Name: vw; Type: VIEW; Schema: public; Owner: postgres
--

CREATE VIEW public.vw AS
 SELECT t.id,
    zzz.v
   FROM public.t,
    LATERAL public.zz(t.id) zzz(a, v)
  WHERE (public.aa(t.id) > 3);


ALTER TABLE public.vw OWNER TO postgres;

--
-- Data for Name: t; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.t (id, v) FROM stdin;
1	x
5	y
\.


--
-- Data for Name: u; Type: TABLE DATA; Schema: public; Owner: postgres
--

COPY public.u (a, b) FROM stdin;
4	1
\.


--
-- Name: t t_pkey; Type: CONSTRAINT; Schema: public; Owner: postgres
--

ALTER TABLE ONLY public.t
    ADD CONSTRAINT t_pkey PRIMARY KEY (id);


--
-- Name: u_aa_idx; Type: INDEX; Schema: public; Owner: postgres
--

CREATE INDEX u_aa_idx ON public.u USING btree (public.aa(a, b));


--
-- PostgreSQL database dump complete
--

\unrestrict DJDlBMmN1T8DyhfTD8ChdBeXqhuhCDWCPOCWVzP5PI5BYs9iE5ZmKGYTHoBtcKq

