(* Lemmas loss derivative, backward sum, gate, odd factors and entry of models/mathematics.md, one after the other for one layer,
   in the double precision of the machine (Flocq's binary64): kernels/reference/operations.hpp and kernels/ops/loss_rule.hpp as
   they are executed over boxes. As long as nothing overflows (total map) the ends are those of network_step.v, bit by bit. *)
From Coq Require Import Reals Lra Lia ZArith List Bool.
From Flocq Require Import Core BinarySingleNaN Binary Bits.
From Holdfast Require Import forward network_step layer_of_doubles.
Import ListNotations.
Open Scope R_scope.
#[local] Instance double_here : Prec_gt_0 53 := eq_refl.

(* ---- Single operations: a number of the machine that is finite, and its real number ---- *)
Definition is (x : binary64) (r : R) : Prop := finite x = true /\ real x = r.
Notation round64 := (fl (-1074) 53).
Definition plus64 := b64_plus mode_NE. Definition minus64 := b64_minus mode_NE. Definition div64 := b64_div mode_NE.
Definition below (x y : binary64) : bool := match b64_compare x y with Some Lt => true | _ => false end.
Definition min64 (x y : binary64) := if below y x then y else x.
Definition max64 (x y : binary64) := if below x y then y else x.
Definition clamp64 (L x : binary64) := min64 (max64 x (b64_opp L)) L.
(* make_odd: the last bit of a significand *)
Definition odd64 (x : binary64) : binary64 := match x with B754_finite _ _ s (xO m) e H => B754_finite 53 1024 s (xI m) e H | _ => x end.

Ltac not_finite op C Hf := exfalso; destruct op; simpl in C; try discriminate C; simpl in Hf; discriminate.
Lemma is_fma x y z a b c : is x a -> is y b -> is z c -> finite (machine_fma x y z) = true -> is (machine_fma x y z) (fma (-1074) 53 a b c).
Proof. intros (Fx & <-) (Fy & <-) (Fz & <-) H. split; [exact H|]. apply fma_is_rounded; assumption. Qed.
Lemma is_plus x y a b : is x a -> is y b -> finite (plus64 x y) = true -> is (plus64 x y) (round64 (a + b)).
Proof.
  intros (Fx & <-) (Fy & <-) H. split; [exact H|]. unfold plus64, b64_plus in *.
  pose proof (Bplus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y Fx Fy) as C. destruct (Rlt_bool _ _); [exact (proj1 C)|].
  destruct C as (C & _). not_finite (Bplus 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y) C H.
Qed.
Lemma is_minus x y a b : is x a -> is y b -> finite (minus64 x y) = true -> is (minus64 x y) (round64 (a - b)).
Proof.
  intros (Fx & <-) (Fy & <-) H. split; [exact H|]. unfold minus64, b64_minus in *.
  pose proof (Bminus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y Fx Fy) as C. destruct (Rlt_bool _ _); [exact (proj1 C)|].
  destruct C as (C & _). not_finite (Bminus 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y) C H.
Qed.
Lemma is_div x y a b : is x a -> is y b -> b <> 0 -> finite (div64 x y) = true -> is (div64 x y) (round64 (a / b)).
Proof.
  intros (Fx & <-) (Fy & <-) B H. split; [exact H|]. unfold div64, b64_div in *.
  pose proof (Bdiv_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y B) as C. destruct (Rlt_bool _ _); [exact (proj1 C)|].
  not_finite (Bdiv 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE x y) C H.
Qed.
Lemma is_opp x a : is x a -> is (b64_opp x) (- a).
Proof. intros (F & <-). split; [unfold b64_opp; rewrite is_finite_Bopp; exact F|apply B2R_Bopp]. Qed.
Lemma below_is x y a b : is x a -> is y b -> below x y = if Rlt_dec a b then true else false.
Proof.
  intros (Fx & <-) (Fy & <-). unfold below, b64_compare. rewrite Bcompare_correct by assumption.
  destruct (Rcompare_spec (real x) (real y)), (Rlt_dec (real x) (real y)); reflexivity || lra.
Qed.
Lemma is_min x y a b : is x a -> is y b -> is (min64 x y) (Rmin a b).
Proof. intros X Y. unfold min64. rewrite (below_is y x b a Y X). unfold Rmin. destruct (Rlt_dec b a), (Rle_dec a b); try assumption; lra. Qed.
Lemma is_max x y a b : is x a -> is y b -> is (max64 x y) (Rmax a b).
Proof.
  intros X Y. unfold max64. rewrite (below_is x y a b X Y). unfold Rmax. destruct (Rlt_dec a b), (Rle_dec a b); try assumption; try lra.
  replace b with a by lra. exact X.
Qed.
Lemma is_clamp L x l a : is L l -> is x a -> is (clamp64 L x) (clamp_to l a).
Proof. intros HL X. apply is_min; [apply is_max; [exact X|apply is_opp, HL]|exact HL]. Qed.

Lemma significand s m e : SpecFloat.bounded 53 1024 m e = true -> let x := F2R (Float radix2 (cond_Zopp s (Zpos m)) e) in
  cexp radix2 (FLT_exp (-1074) 53) x = e /\ even (-1074) 53 x = Z.even (Zpos m).
Proof.
  intros H x. pose proof (canonical_bounded 53 1024 s m e H) as C. change (SpecFloat.fexp 53 1024) with (FLT_exp (-1074) 53) in C.
  assert (E : cexp radix2 (FLT_exp (-1074) 53) x = e) by (symmetry; exact C). split; [exact E|].
  unfold even, scaled_mantissa. rewrite E. unfold x, F2R. cbn [Fnum Fexp]. rewrite Rmult_assoc, <- bpow_plus, Z.add_opp_diag_r, Rmult_1_r, Ztrunc_IZR.
  destruct s; [apply Z.even_opp|reflexivity].
Qed.
Lemma is_odd x a : is x a -> is (odd64 x) (odd (-1074) 53 a).
Proof.
  intros (F & <-). destruct x as [s|s|s p H|s m e H]; try discriminate F.
  - split; [reflexivity|]. cbn. unfold odd. destruct (even _ _ _); [|reflexivity]. destruct (Rlt_dec 0 0); lra || reflexivity.
  - destruct (significand s m e H) as (E & P). destruct m as [m|m|]; (split; [reflexivity|]); cbn [odd64 B2R]; unfold odd; rewrite P; try reflexivity.
    cbn [Z.even]. set (x := F2R (Float radix2 (cond_Zopp s (Z.pos m~0)) e)) in *.
    assert (A : forall s, F2R (Float radix2 (cond_Zopp s (Z.pos m~0)) e) = (if s then -1 else 1) * (IZR (Z.pos m~0) * bpow radix2 e)).
    { intros [|]; unfold F2R; cbn [Fnum Fexp cond_Zopp]; [rewrite opp_IZR|]; ring. }
    assert (B : forall s, F2R (Float radix2 (cond_Zopp s (Z.pos m~1)) e) = (if s then -1 else 1) * (IZR (Z.pos m~0) * bpow radix2 e + bpow radix2 e)).
    { intros [|]; unfold F2R; cbn [Fnum Fexp cond_Zopp]; rewrite (Pos2Z.inj_xI m), (Pos2Z.inj_xO m), ?opp_IZR, plus_IZR; ring. }
    assert (U : 0 < IZR (Z.pos m~0) * bpow radix2 e) by (apply Rmult_lt_0_compat; [apply IZR_lt; reflexivity|apply bpow_gt_0]).
    rewrite B. pose proof (A s) as X. fold x in X. destruct s.
    + destruct (Rlt_dec 0 x); [lra|]. destruct (Rlt_dec x 0); [|lra]. unfold pred. rewrite succ_eq_pos by lra.
      rewrite ulp_neq_0 by lra. rewrite cexp_opp, E. lra.
    + destruct (Rlt_dec 0 x); [|lra]. rewrite succ_eq_pos by lra. rewrite ulp_neq_0 by lra. rewrite E. lra.
Qed.
Definition factor64 (L x : binary64) := odd64 (clamp64 L x).
Lemma is_factor L x l a : is L l -> is x a -> is (factor64 L x) (factor (-1074) 53 l a).
Proof.
  intros HL X. pose proof (is_clamp L x l a HL X) as C. apply is_odd. destruct C as (F & C). split; [exact F|]. rewrite <- C. symmetry.
  apply round_generic; [apply valid_rnd_N|]. apply (generic_format_B2R 53 1024).
Qed.

(* ---- Over boxes ---- *)
Definition interval : Type := binary64 * binary64.        (* lower, upper *)
Definition are (b : interval) (B : box) : Prop := is (fst b) (lower B) /\ is (snd b) (upper B).
Definition box_of (b : interval) : box := {| lower := real (fst b); upper := real (snd b) |}.
Definition finite_both (b : interval) : Prop := finite (fst b) = true /\ finite (snd b) = true.
Lemma are_box b : finite_both b -> are b (box_of b).
Proof. intros (L & U). split; split; assumption || reflexivity. Qed.

(* the four corners *)
Definition corners64 (w z : interval) (s : binary64) := (machine_fma (fst w) (fst z) s, machine_fma (fst w) (snd z) s, machine_fma (snd w) (fst z) s, machine_fma (snd w) (snd z) s).
Definition least64 w z s := let '(a, b, c, d) := corners64 w z s in min64 (min64 a b) (min64 c d).
Definition most64 w z s := let '(a, b, c, d) := corners64 w z s in max64 (max64 a b) (max64 c d).
Definition finite4 w z s := let '(a, b, c, d) := corners64 w z s in (finite a && finite b && finite c && finite d)%bool = true.
Lemma corners_are w z s W Z r : are w W -> are z Z -> is s r -> finite4 w z s -> is (least64 w z s) (least4 (-1074) 53 W Z r) /\ is (most64 w z s) (greatest4 (-1074) 53 W Z r).
Proof.
  intros (Wl & Wu) (Zl & Zu) S F. unfold finite4, corners64 in F. rewrite !andb_true_iff in F. destruct F as (((A & B) & C) & D).
  split; [apply is_min; apply is_min|apply is_max; apply is_max]; apply is_fma; assumption.
Qed.
(* backward: the sum over the units above *)
Fixpoint sum_lower (terms : list (interval * interval)) (s : binary64) := match terms with [] => s | (w, d) :: rest => sum_lower rest (least64 w d s) end.
Fixpoint sum_upper (terms : list (interval * interval)) (s : binary64) := match terms with [] => s | (w, d) :: rest => sum_upper rest (most64 w d s) end.
Fixpoint finite_lower (terms : list (interval * interval)) (s : binary64) : Prop := match terms with [] => True | (w, d) :: rest => finite4 w d s /\ finite_lower rest (least64 w d s) end.
Fixpoint finite_upper (terms : list (interval * interval)) (s : binary64) : Prop := match terms with [] => True | (w, d) :: rest => finite4 w d s /\ finite_upper rest (most64 w d s) end.
Lemma sum_lower_is : forall terms Terms, Forall2 (fun t T => are (fst t) (fst T) /\ are (snd t) (snd T)) terms Terms -> forall s r, is s r -> finite_lower terms s ->
  is (sum_lower terms s) (chain_lower (-1074) 53 Terms r).
Proof.
  intros terms Terms F. induction F as [|(w, d) (W, D) ts Ts (Hw & Hd) F IH]; intros s r S H; [exact S|]. destruct H as (H4 & H).
  apply IH; [exact (proj1 (corners_are w d s W D r Hw Hd S H4))|exact H].
Qed.
Lemma sum_upper_is : forall terms Terms, Forall2 (fun t T => are (fst t) (fst T) /\ are (snd t) (snd T)) terms Terms -> forall s r, is s r -> finite_upper terms s ->
  is (sum_upper terms s) (chain_upper (-1074) 53 Terms r).
Proof.
  intros terms Terms F. induction F as [|(w, d) (W, D) ts Ts (Hw & Hd) F IH]; intros s r S H; [exact S|]. destruct H as (H4 & H).
  apply IH; [exact (proj2 (corners_are w d s W D r Hw Hd S H4))|exact H].
Qed.
(* the gate of a ReLU *)
Definition gate_lower64 (z s : interval) := if below zero64 (fst z) then fst s else if below zero64 (snd z) then min64 (fst s) zero64 else zero64.
Definition gate_upper64 (z s : interval) := if below zero64 (fst z) then snd s else if below zero64 (snd z) then max64 (snd s) zero64 else zero64.
Lemma is_zero : is zero64 0.
Proof. split; reflexivity. Qed.
Lemma gate_are z s Z S : are z Z -> are s S -> is (gate_lower64 z s) (gate_lower Z S) /\ is (gate_upper64 z s) (gate_upper Z S).
Proof.
  intros (Zl & Zu) (Sl & Su). unfold gate_lower64, gate_upper64, gate_lower, gate_upper.
  rewrite (below_is _ _ 0 (lower Z) is_zero Zl), (below_is _ _ 0 (upper Z) is_zero Zu).
  destruct (Rlt_dec 0 (lower Z)); [split; assumption|]. destruct (Rlt_dec 0 (upper Z)); [|split; exact is_zero].
  split; [apply is_min|apply is_max]; assumption || exact is_zero.
Qed.

(* inverse_probability and loss_derivative *)
Section Step.
Variables (exp64 : binary64 -> binary64) (exp' : R -> R).       (* monotone_exp, which is clamped *)
Hypothesis exp64_is : forall x, finite x = true -> is (exp64 x) (exp' (real x)).
Hypothesis exp_rises : forall x y, x <= y -> exp' x <= exp' y.
Hypothesis exp_pos' : forall x, 0 <= exp' x.
Definition one64 : binary64 := b64_of_bits 0x3FF0000000000000.
Lemma is_one : is one64 1.
Proof. split; [vm_compute; reflexivity|]. change (real one64) with (F2R (Float radix2 0x10000000000000 (-52))). unfold F2R. cbn. lra. Qed.
Fixpoint inverse64 (own : binary64) (others : list binary64) (sum : binary64) := match others with [] => sum | z :: others => inverse64 own others (plus64 sum (exp64 (minus64 z own))) end.
Definition derivative64 (wanted own : binary64) (others : list binary64) := minus64 (div64 one64 (inverse64 own others one64)) wanted.
Fixpoint finite_inverse (own : binary64) (others : list binary64) (sum : binary64) : Prop := match others with [] => True | z :: others =>
  let d := minus64 z own in let s := plus64 sum (exp64 d) in finite d = true /\ finite s = true /\ finite_inverse own others s end.
Definition finite_derivative (wanted own : binary64) (others : list binary64) : Prop := finite_inverse own others one64 /\
  finite (div64 one64 (inverse64 own others one64)) = true /\ finite (derivative64 wanted own others) = true.
Lemma inverse_is own Own : is own Own -> forall others Others, Forall2 is others Others -> forall s r, is s r -> finite_inverse own others s ->
  is (inverse64 own others s) (inverse (-1074) 53 exp' Own Others r).
Proof.
  intros O others Others F. induction F as [|z Z l L HZ F IH]; intros s r S H; [exact S|]. destruct H as (Hd & Hs & H). cbn [inverse64 inverse]. apply IH; [|exact H].
  apply is_plus; [exact S| |exact Hs]. pose proof (is_minus z own Z Own HZ O Hd) as (_ & <-). apply exp64_is. exact Hd.
Qed.
Lemma derivative_is wanted own others Wanted Own Others : is wanted Wanted -> is own Own -> Forall2 is others Others -> finite_derivative wanted own others ->
  is (derivative64 wanted own others) (derivative (-1074) 53 exp' Wanted Own Others).
Proof.
  intros W O F (A & B & C). pose proof (inverse_is own Own O others Others F one64 1 is_one A) as I.
  apply is_minus; [|exact W|exact C]. apply is_div; [exact is_one|exact I| |exact B].
  pose proof (inverse_pos (-1074) 53 exp' exp_pos' one_double Own Others 1 (Rle_refl 1)). lra.
Qed.

(* The grid of gradients: its unit, the ulp of its bias, is a power of two; a biased number counts in its bits. *)
Variable exponent : Z.
Definition bias_significand : positive := (3 * 2 ^ 51)%positive.
Hypothesis Hexp : SpecFloat.bounded 53 1024 bias_significand exponent = true.
Definition bias64 : binary64 := B754_finite 53 1024 false bias_significand exponent Hexp.
Definition unit_of := bpow radix2 exponent.
Definition at_zero := IZR (3 * 2 ^ 51) * unit_of.
Definition units64 (x : binary64) : Z := (bits_of_b64 x - bits_of_b64 bias64)%Z.
Definition on_grid (r : R) : Prop := IZR (2 ^ 52) * unit_of <= r < IZR (2 ^ 53) * unit_of.
Lemma exponent_in : (-1074 <= exponent <= 971)%Z.
Proof.
  unfold SpecFloat.bounded, SpecFloat.canonical_mantissa, SpecFloat.fexp, SpecFloat.emin in Hexp. apply andb_true_iff in Hexp. destruct Hexp as (A & B).
  apply Zeq_bool_eq in A. apply Zle_bool_imp_le in B. change (Z.pos (SpecFloat.digits2_pos bias_significand)) with 53%Z in A. lia.
Qed.
Lemma is_bias : is bias64 at_zero.
Proof. split; reflexivity. Qed.
Lemma unit_pos : 0 < unit_of.
Proof. apply bpow_gt_0. Qed.
(* in the binade of the bias *)
Definition on_grid64 (x : binary64) : bool := match x with B754_finite _ _ false m e _ => (2 ^ 52 <=? Z.pos m)%Z && (e =? exponent)%Z | _ => false end.
Lemma binade_is x r : is x r -> on_grid r -> on_grid64 x = true.
Proof.
  intros (F & <-) (A & B). pose proof unit_pos as U. pose proof exponent_in as E. assert (0 < IZR (2 ^ 52)) by (apply IZR_lt; reflexivity).
  assert (P : 0 < real x) by (apply Rlt_le_trans with (2 := A); apply Rmult_lt_0_compat; assumption).
  destruct x as [s|s|s p H'|s m e H']; try discriminate F; [simpl in P; lra|].
  destruct (significand s m e H') as (C & _). destruct s.
  { exfalso. assert (Q : F2R (Float radix2 (- Z.pos m) e) < 0) by (apply F2R_lt_0; reflexivity). simpl in P, Q. lra. }
  assert (X : real (B754_finite 53 1024 false m e H') = IZR (Z.pos m) * bpow radix2 e) by reflexivity.
  assert (M : e = exponent).
  { rewrite <- C. unfold cexp. rewrite (mag_unique_pos radix2 _ (53 + exponent)); [unfold FLT_exp; lia|]. unfold unit_of in *.
    change (F2R (Float radix2 (cond_Zopp false (Z.pos m)) e)) with (real (B754_finite 53 1024 false m e H')).
    replace (53 + exponent - 1)%Z with (52 + exponent)%Z by ring. rewrite !bpow_plus. exact (conj A B). }
  cbn [on_grid64]. rewrite X, M in A. apply Rmult_le_reg_r with (1 := U), le_IZR in A. rewrite M, Z.eqb_refl, (Zle_imp_le_bool _ _ A). reflexivity.
Qed.
Lemma units_are x r : is x r -> on_grid64 x = true -> units64 x = units at_zero unit_of r.
Proof.
  intros (F & <-) H. destruct x as [s|s|s p H'|[|] m e H']; try discriminate H. cbn [on_grid64] in H. apply andb_true_iff in H. destruct H as (L & M).
  apply Zle_bool_imp_le in L. apply Z.eqb_eq in M. subst e. pose proof unit_pos as U. unfold units, unit_of in *.
  change (real (B754_finite 53 1024 false m exponent H')) with (IZR (Z.pos m) * bpow radix2 exponent).
  replace ((IZR (Z.pos m) * bpow radix2 exponent - at_zero) / bpow radix2 exponent) with (IZR (Z.pos m - 3 * 2 ^ 51)) by (rewrite minus_IZR; unfold at_zero, unit_of; field; lra).
  rewrite Zfloor_IZR. unfold units64, bits_of_b64, bits_of_binary_float, bias64, join_bits.
  change (2 ^ 52)%Z with 4503599627370496%Z in *. rewrite (Zle_imp_le_bool 0 (Z.pos m - 4503599627370496)) by lia.
  change (0 <=? Z.pos bias_significand - 4503599627370496)%Z with true. cbv iota. change (Z.pos bias_significand) with (3 * 2 ^ 51)%Z. lia.
Qed.

(* clipped_entry *)
Inductive clip64 := elementwise64 (G : Z) (limit : binary64) | factored64 (a c : binary64).
Definition cut64 (lowest highest x : binary64) := if below x lowest then lowest else if below highest x then highest else x.   (* std::clamp *)
Definition clip_of (how : clip64) : clip := match how with elementwise64 G _ => elementwise G | factored64 a c => factored (real a) (real c) end.
Definition clip_is_good (how : clip64) : Prop := match how with
  | elementwise64 G limit => (0 <= G < 2 ^ 51)%Z /\ is limit (IZR G * unit_of)
  | factored64 a c => finite a = true /\ finite c = true end.
Definition each64 (f : binary64 -> binary64) (b : interval) : interval := (f (fst b), f (snd b)).
Definition delta_of (how : clip64) (delta : interval) := match how with elementwise64 _ _ => delta | factored64 a _ => each64 (factor64 a) delta end.
Definition z_of (how : clip64) (bias : bool) (z : interval) := match how with elementwise64 _ _ => z | factored64 _ c => if bias then z else each64 (factor64 c) z end.
Definition biased64 how bias delta z : interval := (least64 (delta_of how delta) (z_of how bias z) bias64, most64 (delta_of how delta) (z_of how bias z) bias64).
Definition clipped_entry64 how bias delta z : Z * Z := let b := match how with
  | elementwise64 _ limit => each64 (cut64 (minus64 bias64 limit) (plus64 bias64 limit)) (biased64 how bias delta z)
  | factored64 _ _ => biased64 how bias delta z end in (units64 (fst b), units64 (snd b)).
(* no overflow; by factors, where nothing is cut, nothing leaves the grid *)
Definition finite_entry how bias delta z : Prop := finite4 (delta_of how delta) (z_of how bias z) bias64 /\ match how with
  | elementwise64 _ _ => True
  | factored64 _ _ => let b := biased64 how bias delta z in on_grid64 (fst b) = true /\ on_grid64 (snd b) = true end.

Lemma grid_number k : (Z.abs k < 2 ^ 53)%Z -> round64 (IZR k * unit_of) = IZR k * unit_of /\ Rabs (IZR k * unit_of) < bpow radix2 1024.
Proof.
  intros K. pose proof exponent_in as E. pose proof unit_pos as U. split.
  - apply round_generic; [apply valid_rnd_N|]. apply generic_format_FLT. exists (Float radix2 k exponent); [reflexivity|exact K|simpl; lia].
  - rewrite Rabs_mult, (Rabs_pos_eq unit_of) by lra. rewrite <- abs_IZR. apply IZR_lt in K. apply Rlt_le_trans with (IZR (2 ^ 53) * unit_of); [apply Rmult_lt_compat_r; assumption|].
    unfold unit_of. change (IZR (2 ^ 53)) with (bpow radix2 53). rewrite <- bpow_plus. apply bpow_le. lia.
Qed.
Lemma limits_are G limit : (0 <= G < 2 ^ 51)%Z -> is limit (IZR G * unit_of) ->
  is (minus64 bias64 limit) (at_zero - IZR G * unit_of) /\ is (plus64 bias64 limit) (at_zero + IZR G * unit_of).
Proof.
  intros HG (F & L). destruct is_bias as (Fb & B). split.
  - pose proof (Bminus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE bias64 limit Fb F) as C. rewrite B, L in C.
    replace (at_zero - IZR G * unit_of) with (IZR (3 * 2 ^ 51 - G) * unit_of) in * by (rewrite minus_IZR; unfold at_zero; ring).
    destruct (grid_number (3 * 2 ^ 51 - G) ltac:(lia)) as (R & A). change (round radix2 _ _ _) with (round64 (IZR (3 * 2 ^ 51 - G) * unit_of)) in C.
    rewrite R, (Rlt_bool_true _ _ A) in C. destruct C as (C & D & _). split; [exact D|exact C].
  - pose proof (Bplus_correct 53 1024 eq_refl eq_refl binop_nan_pl64 mode_NE bias64 limit Fb F) as C. rewrite B, L in C.
    replace (at_zero + IZR G * unit_of) with (IZR (3 * 2 ^ 51 + G) * unit_of) in * by (rewrite plus_IZR; unfold at_zero; ring).
    destruct (grid_number (3 * 2 ^ 51 + G) ltac:(lia)) as (R & A). change (round radix2 _ _ _) with (round64 (IZR (3 * 2 ^ 51 + G) * unit_of)) in C.
    rewrite R, (Rlt_bool_true _ _ A) in C. destruct C as (C & D & _). split; [exact D|exact C].
Qed.
Lemma cut_is G limit x r : (0 <= G < 2 ^ 51)%Z -> is limit (IZR G * unit_of) -> is x r ->
  units64 (cut64 (minus64 bias64 limit) (plus64 bias64 limit) x) = units at_zero unit_of (cut at_zero unit_of G r).
Proof.
  intros HG L X. destruct (limits_are G limit HG L) as (Lo & Hi). pose proof unit_pos as U.
  assert (0 <= IZR G * unit_of) by (apply Rmult_le_pos; [apply IZR_le; lia|lra]).
  assert (K : is (cut64 (minus64 bias64 limit) (plus64 bias64 limit) x) (cut at_zero unit_of G r)).
  { unfold cut64, cut. rewrite (below_is _ _ _ _ X Lo), (below_is _ _ _ _ Hi X). destruct (Rlt_dec r _); [rewrite Rmax_right, Rmin_left by lra; exact Lo|].
    rewrite Rmax_left by lra. destruct (Rlt_dec _ r); [rewrite Rmin_right by lra; exact Hi|rewrite Rmin_left by lra; exact X]. }
  apply units_are; [exact K|]. apply (binade_is _ _ K).
  assert (I : at_zero - IZR G * unit_of <= cut at_zero unit_of G r <= at_zero + IZR G * unit_of).
  { unfold cut. split; [apply Rmin_glb; [apply Rmax_r|lra]|apply Rmin_r]. }
  assert (IZR G * unit_of < IZR (2 ^ 51) * unit_of) by (apply Rmult_lt_compat_r; [exact U|apply IZR_lt; lia]).
  unfold on_grid, at_zero in *. change (IZR (3 * 2 ^ 51)) with 6755399441055744 in *. change (IZR (2 ^ 51)) with 2251799813685248 in *.
  change (IZR (2 ^ 52)) with 4503599627370496. change (IZR (2 ^ 53)) with 9007199254740992. lra.
Qed.
Lemma each_are f g b B : (forall x r, is x r -> is (f x) (g r)) -> are b B -> are (each64 f b) (image g B).
Proof. intros H (L & U). split; apply H; assumption. Qed.
Lemma entry_is how bias delta z D Z : clip_is_good how -> are delta D -> are z Z -> finite_entry how bias delta z -> clipped_entry64 how bias delta z =
  (entry_lower (-1074) 53 at_zero unit_of (clip_of how) bias D Z, entry_upper (-1074) 53 at_zero unit_of (clip_of how) bias D Z).
Proof.
  intros G HD HZ (F & F2). destruct how as [G' limit|a c]; cbn [clip_of clip_is_good delta_of z_of entry_lower entry_upper] in *.
  - destruct G as (G & L). destruct (corners_are delta z bias64 D Z at_zero HD HZ is_bias F) as (A & B).
    unfold clipped_entry64. cbn [each64 fst snd biased64 delta_of z_of]. rewrite (cut_is G' limit _ _ G L A), (cut_is G' limit _ _ G L B). reflexivity.
  - destruct G as (Fa & Fc).
    assert (HD' : are (each64 (factor64 a) delta) (image (factor (-1074) 53 (real a)) D)) by (apply each_are; [intros; apply is_factor; [split; [exact Fa|reflexivity]|assumption]|exact HD]).
    assert (HZ' : are (if bias then z else each64 (factor64 c) z) (if bias then Z else image (factor (-1074) 53 (real c)) Z)).
    { destruct bias; [exact HZ|]. apply each_are; [intros; apply is_factor; [split; [exact Fc|reflexivity]|assumption]|exact HZ]. }
    destruct (corners_are _ _ bias64 _ _ at_zero HD' HZ' is_bias F) as (A & B). destruct F2 as (OA & OB).
    unfold clipped_entry64. cbn [biased64 delta_of z_of fst snd] in *. rewrite (units_are _ _ A OA), (units_are _ _ B OB). reflexivity.
Qed.

(* ---- One layer, the last: inputs z >= 0, then the bias; and what it hands to the layer below ---- *)
Section Layer.
Variables (ins outs label : nat) (S : binary64) (how : clip64).
Hypothesis HS : finite S = true.
Hypothesis Hhow : clip_is_good how.
Definition wanted64 c : binary64 := if Nat.eqb c label then one64 else zero64.
Section Machine.
Variables (w : nat -> nat -> interval) (z : nat -> interval).        (* unit, input *)
Definition row c := map (fun u => (w c u, z u)) (seq 0 ins).
Definition logit64 c : interval := (lower_end (row c) (fst (w c ins)), upper_end (row c) (snd (w c ins))).
Definition lower64 c := fst (logit64 c). Definition upper64 c := snd (logit64 c).
Definition delta64 c : interval := (derivative64 (wanted64 c) (lower64 c) (map upper64 (others outs c)), derivative64 (wanted64 c) (upper64 c) (map lower64 (others outs c))).
Definition column u := map (fun c => (w c u, delta64 c)) (seq 0 outs).
Definition below64 u : interval := let s := (sum_lower (column u) zero64, sum_upper (column u) zero64) in
  (clamp64 S (gate_lower64 (z u) s), clamp64 S (gate_upper64 (z u) s)).
Definition factor_of u : interval := if Nat.eqb u ins then (one64, one64) else z u.
Definition entry64 c u : Z * Z := clipped_entry64 how (Nat.eqb u ins) (delta64 c) (factor_of u).
(* what goes in is finite, and every result on the way *)
Definition nothing_overflows : Prop :=
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> finite_both (w c u)) /\ (forall u, (u < ins)%nat -> finite_both (z u) /\ below (fst (z u)) zero64 = false) /\
  (forall c, (c < outs)%nat -> finite_below (row c) (fst (w c ins)) /\ finite_above (row c) (snd (w c ins)) /\
    finite_derivative (wanted64 c) (lower64 c) (map upper64 (others outs c)) /\ finite_derivative (wanted64 c) (upper64 c) (map lower64 (others outs c))) /\
  (forall u, (u < ins)%nat -> finite_lower (column u) zero64 /\ finite_upper (column u) zero64) /\
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> finite_entry how (Nat.eqb u ins) (delta64 c) (factor_of u)).
End Machine.

(* the same in the rounded reals of network_step.v: at a point, over a box *)
Section Point.
Variables (w : nat -> nat -> R) (z : nat -> R).
Definition logit_at c : R := chain (-1074) 53 (map (fun u => (w c u, z u)) (seq 0 ins)) (w c ins).
Definition delta_at c : R := derivative (-1074) 53 exp' (wanted label c) (logit_at c) (map logit_at (others outs c)).
Definition below_at u : R := clamp_to (real S) (gate (z u) (chain (-1074) 53 (map (fun c => (w c u, delta_at c)) (seq 0 outs)) 0)).
Definition entry_at c u : Z := entry (-1074) 53 at_zero unit_of (clip_of how) (Nat.eqb u ins) (delta_at c) (if Nat.eqb u ins then 1 else z u).
End Point.
Section Box.
Variables (w : nat -> nat -> box) (z : nat -> box).
Definition logit_in c : box := let row := map (fun u => (w c u, z u)) (seq 0 ins) in
  {| lower := forward_lower (-1074) 53 row (lower (w c ins)); upper := forward_upper (-1074) 53 row (upper (w c ins)) |}.
Definition delta_in c : box := {| lower := derivative (-1074) 53 exp' (wanted label c) (lower (logit_in c)) (map (fun j => upper (logit_in j)) (others outs c));
  upper := derivative (-1074) 53 exp' (wanted label c) (upper (logit_in c)) (map (fun j => lower (logit_in j)) (others outs c)) |}.
Definition sum_in u : box := let column := map (fun c => (w c u, delta_in c)) (seq 0 outs) in {| lower := chain_lower (-1074) 53 column 0; upper := chain_upper (-1074) 53 column 0 |}.
Definition below_in u : box := image (clamp_to (real S)) {| lower := gate_lower (z u) (sum_in u); upper := gate_upper (z u) (sum_in u) |}.
Definition factor_in u : box := if Nat.eqb u ins then at_point 1 else z u.
Definition entry_in c u : Z * Z := (entry_lower (-1074) 53 at_zero unit_of (clip_of how) (Nat.eqb u ins) (delta_in c) (factor_in u),
  entry_upper (-1074) 53 at_zero unit_of (clip_of how) (Nat.eqb u ins) (delta_in c) (factor_in u)).
End Box.

Lemma each_in {A C D : Type} (Q : C -> D -> Prop) (f : A -> C) (g : A -> D) l : (forall i, In i l -> Q (f i) (g i)) -> Forall2 Q (map f l) (map g l).
Proof. induction l; cbn; constructor; auto. Qed.
Lemma in_seq0 n i : In i (seq 0 n) -> (i < n)%nat.
Proof. intros H. apply in_seq in H. lia. Qed.
Lemma in_others c j : In j (others outs c) -> (j < outs)%nat.
Proof. intros H. apply filter_In in H. apply in_seq0, H. Qed.

(* The machine's ends are those. *)
Section Transport.
Variables (w : nat -> nat -> interval) (z : nat -> interval).
Hypothesis H : nothing_overflows w z.
Notation W := (fun c u => box_of (w c u)).
Notation Z' := (fun u => box_of (z u)).
Lemma lower_end_finite : forall terms s, finite s = true -> finite_below terms s -> finite (lower_end terms s) = true.
Proof. induction terms as [|((wl, wu), (zl, zu)) terms IH]; intros s F B; [exact F|]. destruct B as (F' & B). apply IH; assumption. Qed.
Lemma upper_end_finite : forall terms s, finite s = true -> finite_above terms s -> finite (upper_end terms s) = true.
Proof. induction terms as [|((wl, wu), (zl, zu)) terms IH]; intros s F B; [exact F|]. destruct B as (F' & B). apply IH; assumption. Qed.
Lemma logits_are c : (c < outs)%nat -> are (logit64 w z c) (logit_in W Z' c).
Proof.
  intros Hc. destruct H as (Hw & Hz & Hl & _). destruct (Hl c Hc) as (L & U & _). destruct (Hw c ins Hc (Nat.le_refl _)) as (Fl & Fu).
  assert (F : Forall finite_ends (row w z c)).
  { apply Forall_forall. intros t T. apply in_map_iff in T. destruct T as (u & <- & T). apply in_seq0 in T. destruct (Hw c u Hc ltac:(lia)) as (A & B). destruct (Hz u T) as ((C & D) & _).
    destruct (w c u), (z u). repeat split; assumption. }
  assert (E : boxes_of (row w z c) = map (fun u => (box_of (w c u), box_of (z u))) (seq 0 ins)).
  { unfold boxes_of, row. rewrite map_map. apply map_ext. intros u. destruct (w c u), (z u). reflexivity. }
  unfold logit64, logit_in. cbv zeta. rewrite <- E. cbn [lower upper box_of]. split; (split; [first [apply lower_end_finite|apply upper_end_finite]; assumption|]).
  - exact (proj1 (layer_of_doubles _ _ F Fl) L).
  - exact (proj2 (layer_of_doubles _ _ F Fu) U).
Qed.
Lemma wanted_is c : is (wanted64 c) (wanted label c).
Proof. unfold wanted64, wanted. destruct (Nat.eqb c label); [exact is_one|exact is_zero]. Qed.
Lemma deltas_are c : (c < outs)%nat -> are (delta64 w z c) (delta_in W Z' c).
Proof.
  intros Hc. destruct H as (_ & _ & Hl & _). destruct (Hl c Hc) as (_ & _ & Dl & Du). destruct (logits_are c Hc) as (A & B).
  split; (apply derivative_is; [apply wanted_is|assumption| |assumption]); apply each_in; intros j J; destruct (logits_are j (in_others c j J)); assumption.
Qed.
Lemma below_are u : (u < ins)%nat -> are (below64 w z u) (below_in W Z' u).
Proof.
  intros Hu. destruct H as (Hw & Hz & _ & Hs & _). destruct (Hs u Hu) as (L & U). destruct (Hz u Hu) as (Fz & _).
  assert (F : Forall2 (fun t T => are (fst t) (fst T) /\ are (snd t) (snd T)) (column w z u) (map (fun c => (box_of (w c u), delta_in W Z' c)) (seq 0 outs))).
  { apply each_in. intros c C. apply in_seq0 in C. split; [apply are_box, Hw; lia|apply deltas_are, C]. }
  assert (K : are (sum_lower (column w z u) zero64, sum_upper (column w z u) zero64) (sum_in W Z' u)).
  { split; [apply (sum_lower_is _ _ F _ 0 is_zero L)|apply (sum_upper_is _ _ F _ 0 is_zero U)]. }
  destruct (gate_are (z u) _ (box_of (z u)) _ (are_box _ Fz) K) as (A & B). assert (C : is S (real S)) by (split; [exact HS|reflexivity]).
  split; apply is_clamp; assumption.
Qed.
Lemma factors_are u : (u <= ins)%nat -> are (factor_of z u) (factor_in Z' u).
Proof.
  intros Hu. unfold factor_of, factor_in. destruct (Nat.eqb_spec u ins); [split; exact is_one|]. apply are_box. destruct H as (_ & Hz & _). apply Hz. lia.
Qed.
Lemma entries_are c u : (c < outs)%nat -> (u <= ins)%nat -> entry64 w z c u = entry_in W Z' c u.
Proof. intros Hc Hu. apply entry_is; [exact Hhow|apply deltas_are, Hc|apply factors_are, Hu|]. destruct H as (_ & _ & _ & _ & He). apply He; assumption. Qed.
Lemma input_pos u : (u < ins)%nat -> 0 <= lower (box_of (z u)).
Proof.
  intros Hu. destruct H as (_ & Hz & _). destruct (Hz u Hu) as ((F & _) & B). rewrite (below_is _ _ (real (fst (z u))) 0 (conj F eq_refl) is_zero) in B.
  cbn. destruct (Rlt_dec _ _); [discriminate B|lra].
Qed.
End Transport.

(* What the machine computes over a box holds every point of it; and boxes within boxes give boxes within boxes. *)
Theorem step_of_doubles : forall w z, nothing_overflows w z ->
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> entry64 w z c u = entry_in (fun c u => box_of (w c u)) (fun u => box_of (z u)) c u) /\
  (forall u, (u < ins)%nat -> are (below64 w z u) (below_in (fun c u => box_of (w c u)) (fun u => box_of (z u)) u)) /\
  forall theta x, (forall c u, (c < outs)%nat -> (u <= ins)%nat -> holds (box_of (w c u)) (theta c u)) -> (forall u, (u < ins)%nat -> holds (box_of (z u)) (x u)) ->
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> (fst (entry64 w z c u) <= entry_at theta x c u <= snd (entry64 w z c u))%Z) /\
  (forall u, (u < ins)%nat -> real (fst (below64 w z u)) <= below_at theta x u <= real (snd (below64 w z u))).
Proof.
  intros w z H. split; [exact (entries_are w z H)|]. split; [exact (below_are w z H)|]. intros theta x Ht Hx.
  set (W := fun c u => box_of (w c u)) in *. set (Z' := fun u => box_of (z u)) in *.
  assert (L : forall c, (c < outs)%nat -> holds (logit_in W Z' c) (logit_at theta x c)).
  { intros c Hc. refine (forward_inclusion (-1074) 53 _ _ _ _ _ (Ht c ins Hc (Nat.le_refl _))). apply each_in. intros u U. apply in_seq0 in U.
    split; [apply Ht; lia|]. split; [apply Hx, U|apply (input_pos w z H), U]. }
  assert (D : forall c, (c < outs)%nat -> holds (delta_in W Z' c) (delta_at theta x c)).
  { intros c Hc. destruct (L c Hc). split; apply (loss_derivative (-1074) 53 exp' exp_rises exp_pos' one_double); try assumption;
      apply each_in; intros j J; destruct (L j (in_others c j J)); assumption. }
  split.
  - intros c u Hc Hu. rewrite (entries_are w z H c u Hc Hu). apply (entry_inclusion (-1074) 53); [exact unit_pos|apply D, Hc|].
    unfold factor_in. destruct (Nat.eqb_spec u ins); [apply point_held|apply Hx; lia].
  - intros u Hu. destruct (below_are w z H u Hu) as ((_ & ->) & (_ & ->)). apply image_holds; [intros; apply clamp_le; assumption|].
    apply gate_inclusion; [apply Hx, Hu|]. refine (backward_inclusion (-1074) 53 _ _ _ 0 (at_point 0) (point_held 0)).
    apply each_in. intros c C. apply in_seq0 in C. split; [apply Ht; lia|apply D, C].
Qed.
Theorem steps_of_doubles_nest : forall w z w' z', nothing_overflows w z -> nothing_overflows w' z' ->
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> inside (box_of (w c u)) (box_of (w' c u)) /\ proper (box_of (w c u))) ->
  (forall u, (u < ins)%nat -> inside (box_of (z u)) (box_of (z' u)) /\ proper (box_of (z u))) ->
  (forall c u, (c < outs)%nat -> (u <= ins)%nat -> (fst (entry64 w' z' c u) <= fst (entry64 w z c u) /\ snd (entry64 w z c u) <= snd (entry64 w' z' c u))%Z) /\
  (forall u, (u < ins)%nat -> inside (box_of (below64 w z u)) (box_of (below64 w' z' u))).
Proof.
  intros w z w' z' H H' Iw Iz.
  destruct (step_of_doubles w z H) as (E & B & _). destruct (step_of_doubles w' z' H') as (E' & B' & _).
  set (W := fun c u => box_of (w c u)) in *. set (Z1 := fun u => box_of (z u)) in *. set (W' := fun c u => box_of (w' c u)) in *. set (Z1' := fun u => box_of (z' u)) in *.
  assert (L : forall c, (c < outs)%nat -> inside (logit_in W Z1 c) (logit_in W' Z1' c) /\ proper (logit_in W Z1 c)).
  { intros c Hc. assert (F : Forall2 boxes_in (map (fun u => (W c u, Z1 u)) (seq 0 ins)) (map (fun u => (W' c u, Z1' u)) (seq 0 ins))).
    { apply each_in. intros u U. apply in_seq0 in U. destruct (Iw c u Hc ltac:(lia)), (Iz u U). repeat (split; [assumption|]). apply (input_pos w' z' H'), U. }
    destruct (Iw c ins Hc (Nat.le_refl _)) as (I & P). split; [exact (forward_isotony (-1074) 53 _ _ F _ _ I)|].
    assert (G : Forall2 term_in (map (fun u => (lower (W c u), lower (Z1 u))) (seq 0 ins)) (map (fun u => (W c u, Z1 u)) (seq 0 ins))).
    { apply each_in. intros u U. apply in_seq0 in U. destruct (Iw c u Hc ltac:(lia)) as (_ & P1), (Iz u U) as (_ & P2). unfold term_in, holds, proper in *. cbn [fst snd].
      assert (0 <= lower (Z1 u)) by exact (input_pos w z H u U). repeat split; first [apply Rle_refl|assumption]. }
    eapply held_is_proper. refine (forward_inclusion (-1074) 53 _ _ G (lower (W c ins)) (W c ins) (conj (Rle_refl _) P)). }
  assert (D : forall c, (c < outs)%nat -> inside (delta_in W Z1 c) (delta_in W' Z1' c) /\ proper (delta_in W Z1 c)).
  { intros c Hc. destruct (L c Hc) as ((A1 & A2) & P). split; [split|]; apply (loss_derivative (-1074) 53 exp' exp_rises exp_pos' one_double); try assumption;
      apply each_in; intros j J; destruct (L j (in_others c j J)) as ((? & ?) & ?); assumption. }
  assert (S' : forall u, (u < ins)%nat -> inside (sum_in W Z1 u) (sum_in W' Z1' u) /\ proper (sum_in W Z1 u)).
  { intros u Hu. split.
    - refine (backward_isotony (-1074) 53 _ _ _ (at_point 0) (at_point 0) (point_inside 0)). apply each_in. intros c C. apply in_seq0 in C.
      destruct (Iw c u C ltac:(lia)), (D c C). repeat (assumption || split).
    - eapply held_is_proper. refine (backward_inclusion (-1074) 53 (map (fun c => (lower (W c u), lower (delta_in W Z1 c))) (seq 0 outs)) _ _ 0 (at_point 0) (point_held 0)).
      apply each_in. intros c C. apply in_seq0 in C. destruct (Iw c u C ltac:(lia)) as (_ & P1), (D c C) as (_ & P2). unfold holds, proper in *. cbn [fst snd]. repeat split; first [apply Rle_refl|assumption]. }
  split.
  - intros c u Hc Hu. rewrite (E c u Hc Hu), (E' c u Hc Hu). destruct (D c Hc). unfold entry_in. cbn [fst snd]. apply (entry_isotony (-1074) 53); try assumption; [exact unit_pos| |];
      unfold factor_in; destruct (Nat.eqb_spec u ins); try apply point_inside; apply Iz; lia.
  - intros u Hu. destruct (B u Hu) as ((_ & E1) & (_ & E2)), (B' u Hu) as ((_ & E3) & (_ & E4)). unfold inside, box_of. cbn [lower upper]. rewrite E1, E2, E3, E4.
    destruct (Iz u Hu), (S' u Hu). apply (image_inside (clamp_to (real S))); [intros; apply clamp_le; assumption|]. apply gate_isotony; assumption.
Qed.
End Layer.
End Step.

(* ---- Examples, and wrong statements refuted ---- *)
Definition steep64 (x : binary64) : binary64 := if below x zero64 then zero64 else one64.
Lemma steep64_is x : finite x = true -> is (steep64 x) (steep (real x)).
Proof. intros F. unfold steep64, steep. rewrite (below_is x zero64 (real x) 0 (conj F eq_refl) is_zero). destruct (Rlt_dec (real x) 0); [exact is_zero|exact is_one]. Qed.
(* one input in [1/2, 2], two classes, weights in [-1, 3/2], saturation at 2^300; within it 1 and 1/2. The unit is 2^-40. *)
Definition minus_one64 := b64_of_bits 0xBFF0000000000000. Definition half64 := b64_of_bits 0x3FE0000000000000.
Definition three_halves64 := b64_of_bits 0x3FF8000000000000. Definition two64 := b64_of_bits 0x4000000000000000.
Definition two_to_300 := b64_of_bits 0x52B0000000000000. Definition gamma64 := b64_of_bits 0x3FB0000000000000.      (* 1/16 *)
Definition wide_w (c u : nat) : interval := (minus_one64, three_halves64). Definition wide_z (u : nat) : interval := (half64, two64).
Definition narrow_w (c u : nat) : interval := (half64, half64). Definition narrow_z (u : nat) : interval := (one64, one64).
Definition grid_ok : SpecFloat.bounded 53 1024 bias_significand (-40) = true := eq_refl.
Definition by_factors := factored64 one64 two64. Definition by_elements := elementwise64 (2 ^ 36) gamma64.
(* class 0 above class 1 *)
Definition apart_w (c u : nat) : interval := match c with O => (half64, half64) | _ => (minus_one64, minus_one64) end.
Definition step how (w : nat -> nat -> interval) (z : nat -> interval) := entry64 steep64 (-40) grid_ok 1 2 1 how w z.
Definition point how := entry_at steep (-40) 1 2 1 how.
Lemma under2 (P : nat -> Prop) : P 0%nat -> P 1%nat -> forall c, (c < 2)%nat -> P c.
Proof. intros A B [|[|c]] H; assumption || lia. Qed.
Lemma under1 (P : nat -> Prop) : P 0%nat -> forall c, (c < 1)%nat -> P c.
Proof. intros A [|c] H; assumption || lia. Qed.
Lemma up_to1 (P : nat -> nat -> Prop) : P 0%nat 0%nat -> P 0%nat 1%nat -> P 1%nat 0%nat -> P 1%nat 1%nat -> forall c u, (c < 2)%nat -> (u <= 1)%nat -> P c u.
Proof. intros A B C D [|[|c]] [|[|u]] H K; assumption || lia. Qed.
Ltac fits := unfold nothing_overflows; split; [apply up_to1; vm_compute; repeat split|]; split; [apply under1; vm_compute; repeat split|];
  split; [apply under2; vm_compute; repeat split|]; split; [apply under1; vm_compute; repeat split|apply up_to1; vm_compute; repeat split].
Lemma narrow_fits' : nothing_overflows steep64 (-40) grid_ok 1 2 1 by_elements narrow_w narrow_z.
Proof. fits. Qed.
Lemma wide_fits : nothing_overflows steep64 (-40) grid_ok 1 2 1 by_factors wide_w wide_z.
Proof. fits. Qed.
Lemma apart_fits : nothing_overflows steep64 (-40) grid_ok 1 2 1 by_factors apart_w narrow_z.
Proof. fits. Qed.
Lemma wide_fits' : nothing_overflows steep64 (-40) grid_ok 1 2 1 by_elements wide_w wide_z.
Proof. fits. Qed.
Lemma factors_good : clip_is_good (-40) by_factors.
Proof. split; vm_compute; reflexivity. Qed.
Lemma elements_good : clip_is_good (-40) by_elements.
Proof.
  split; [lia|]. split; [vm_compute; reflexivity|]. change (real gamma64) with (F2R (Float radix2 0x10000000000000 (-56))). unfold F2R, unit_of. cbn [Fnum Fexp].
  change 0x10000000000000 with (bpow radix2 52). change (IZR (2 ^ 36)) with (bpow radix2 36). rewrite <- !bpow_plus. reflexivity.
Qed.
Ltac values := unfold holds, proper, inside, box_of; cbn [lower upper fst snd wide_w wide_z narrow_w narrow_z];
  change (real one64) with (F2R (Float radix2 0x10000000000000 (-52))); change (real half64) with (F2R (Float radix2 0x10000000000000 (-53)));
  change (real minus_one64) with (F2R (Float radix2 (- 0x10000000000000) (-52))); change (real two64) with (F2R (Float radix2 0x10000000000000 (-51)));
  change (real three_halves64) with (F2R (Float radix2 0x18000000000000 (-52))); unfold F2R; cbn; lra.
Example step_of_doubles_example : forall c u, (c < 2)%nat -> (u <= 1)%nat -> (fst (step by_factors wide_w wide_z c u) <= point by_factors (fun _ _ => / 3)%R (fun _ => 1%R) c u <= snd (step by_factors wide_w wide_z c u))%Z.
Proof.
  apply (step_of_doubles steep64 steep steep64_is steep_rises steep_pos (-40) grid_ok 1 2 1 two_to_300 by_factors eq_refl factors_good wide_w wide_z wide_fits); intros; values.
Qed.
Example steps_of_doubles_nest_example : forall c u, (c < 2)%nat -> (u <= 1)%nat -> (fst (step by_elements wide_w wide_z c u) <= fst (step by_elements narrow_w narrow_z c u) /\
  snd (step by_elements narrow_w narrow_z c u) <= snd (step by_elements wide_w wide_z c u))%Z.
Proof.
  apply (steps_of_doubles_nest steep64 steep steep64_is steep_rises steep_pos (-40) grid_ok 1 2 1 two_to_300 by_elements eq_refl elements_good narrow_w narrow_z wide_w wide_z narrow_fits' wide_fits');
    intros; repeat split; values.
Qed.
(* A point outside the box; the larger box within the smaller. *)
Fact step_of_doubles_mutant : ~ (forall theta x, (point by_factors theta x 0 0 <= snd (step by_factors narrow_w narrow_z 0 0))%Z).
Proof.
  intros H. destruct (step_of_doubles steep64 steep steep64_is steep_rises steep_pos (-40) grid_ok 1 2 1 two_to_300 by_factors eq_refl factors_good apart_w narrow_z apart_fits) as (_ & _ & I).
  destruct (I (fun c u => real (fst (apart_w c u))) (fun u => real (fst (narrow_z u)))) as (I' & _);
    [intros [|c] u _ _; split; apply Rle_refl|intros; split; apply Rle_refl|].
  specialize (H (fun c u => real (fst (apart_w c u))) (fun u => real (fst (narrow_z u)))). destruct (I' 0%nat 0%nat ltac:(lia) ltac:(lia)) as (L & _).
  pose proof (Z.le_trans _ _ _ L H) as C. revert C. vm_compute. intros C. apply C. reflexivity.
Qed.
Fact steps_of_doubles_nest_mutant : ~ (fst (step by_factors narrow_w narrow_z 0 0) <= fst (step by_factors wide_w wide_z 0 0))%Z.
Proof. vm_compute. intros C. apply C. reflexivity. Qed.
