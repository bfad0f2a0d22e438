(* Theorems stable randomised response, published flip laws, one-record response and joined distances of
   models/mathematics.md, of the integer tables that the program draws from (models/privacy/mechanisms/flip_law.cpp):
   entry q h over N = 2^128 is what each class other than the label has at distance h, roundings and caps included. *)
From Coq Require Import Reals Lra Lia ZArith Arith.
From Flocq Require Import Core.
From Holdfast Require Import finite_sums.
Open Scope R_scope.

(* What neighbours' evidence may be: distances move by at most one, labels only where both are 0 (smoothness). *)
Definition neighbours (f h f' h' : nat) : Prop :=
  (h <= h' + 1)%nat /\ (h' <= h + 1)%nat /\ ((1 <= h)%nat \/ (1 <= h')%nat -> f = f').
(* Joined distances ask for less: labels are equal where both are 1 or more. *)
Definition joined (f h f' h' : nat) : Prop :=
  (h <= h' + 1)%nat /\ (h' <= h + 1)%nat /\ ((1 <= h)%nat /\ (1 <= h')%nat -> f = f').

Section FlipLaw.
Variables (C : nat) (N eps delta : R) (q : nat -> R).
Let K := INR (C - 1).
Let stay h := N - q h * K.
(* FlipLaw::exact_law *)
Definition flip (label h c : nat) : R := if Nat.eqb c label then stay h / N else q h / N.
Hypothesis HC : (2 <= C)%nat.
Hypothesis HN : 0 < N.
Hypothesis Heps : 0 <= eps.
Hypothesis Hdelta : 0 <= delta.
Hypothesis range : forall h, 0 <= q h /\ q h * K <= N.
Hypothesis falls : forall h, q (S h) <= q h.
Hypothesis others : forall h, K * (q h - exp eps * q (S h)) <= delta * N.
Hypothesis label : forall h, stay (S h) - exp eps * stay h <= delta * N.

Lemma HK : 1 <= K.
Proof. unfold K. replace 1 with (INR 1) by reflexivity. apply le_INR. lia. Qed.
Lemma over x y z : x - exp eps * y <= z * N -> x / N - exp eps * (y / N) <= z.
Proof.
  intros. replace (x / N - exp eps * (y / N)) with ((x - exp eps * y) * / N) by (field; lra).
  replace z with (z * N * / N) by (field; lra). apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat|]; lra.
Qed.
Lemma no_loss x y : 0 <= x -> x <= y -> x / N - exp eps * (y / N) <= 0.
Proof. intros. pose proof (exp_ge_1 eps Heps). apply over. assert (1 * y <= exp eps * y) by (apply Rmult_le_compat_r; lra). lra. Qed.
Lemma stays h : 0 <= q h /\ 0 <= stay h.
Proof. pose proof (range h). unfold stay. lra. Qed.
Lemma delta_shared : 0 <= delta / K /\ K * (delta / K) = delta.
Proof. pose proof HK. split; [|field; lra]. apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]. Qed.

(* One label at h and h + 1, in either order. *)
Lemma down f h : (f < C)%nat -> private C eps delta (flip f h) (flip f (S h)).
Proof.
  intros Hf. apply private_by_outcome. pose proof HK. destruct delta_shared as (D0 & DK).
  pose proof (stays h). pose proof (stays (S h)). pose proof (falls h).
  eapply Rle_trans; [apply (total_one C _ f 0 (delta / K) Hf)|fold K; lra].
  intros c _. unfold flip. destruct (Nat.eqb c f); apply Rmax_lub; try lra.
  - apply no_loss; [lra|]. unfold stay. nra.
  - apply over. apply Rmult_le_reg_l with K; [lra|]. replace (K * (delta / K * N)) with (delta * N) by (field; lra). apply others.
Qed.
Lemma up f h : (f < C)%nat -> private C eps delta (flip f (S h)) (flip f h).
Proof.
  intros Hf. apply private_by_outcome. pose proof (stays h). pose proof (stays (S h)).
  eapply Rle_trans; [apply (total_one C _ f delta 0 Hf)|lra].
  intros c _. unfold flip. destruct (Nat.eqb c f); apply Rmax_lub; try lra.
  - apply over. apply label.
  - apply no_loss; [lra|apply falls].
Qed.
Lemma same f h : private C eps delta (flip f h) (flip f h).
Proof.
  apply private_refl; try assumption. intros c. pose proof (stays h). unfold flip.
  destruct (Nat.eqb c f); apply Rmult_le_pos; try lra; left; apply Rinv_0_lt_compat; lra.
Qed.
Lemma one_label f h h' : (f < C)%nat -> (h <= h' + 1)%nat -> (h' <= h + 1)%nat -> private C eps delta (flip f h) (flip f h').
Proof.
  intros Hf L1 L2. assert (cases : h' = h \/ h' = S h \/ h = S h') by lia.
  destruct cases as [-> | [-> | ->]]; [apply same|apply down|apply up]; assumption.
Qed.

(* At distance 0 the label is likelier than others by what delta allows, and hardly less likely. *)
Lemma flip_law_is_private : stay O - exp eps * q O <= delta * N -> q O <= exp eps * stay O ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> neighbours f h f' h' -> private C eps delta (flip f h) (flip f' h').
Proof.
  intros first back f h f' h' Hf Hf' (L1 & L2 & HL).
  destruct (Nat.eq_dec f f') as [<-|Hne]; [apply one_label; assumption|].
  assert (h = 0 /\ h' = 0)%nat as (-> & ->) by (destruct h, h'; try lia; exfalso; apply Hne, HL; lia).
  pose proof (stays O). apply private_by_outcome. eapply Rle_trans; [apply (total_one C _ f delta 0 Hf)|lra].
  intros c _. unfold flip. destruct (Nat.eqb_spec c f); destruct (Nat.eqb_spec c f'); try (subst; congruence); apply Rmax_lub; try lra.
  - apply over. exact first.
  - apply over. lra.
  - apply no_loss; lra.
Qed.

(* Joined distances: the label at 0 is no likelier than others, and hardly less. So at 0 no class is far from any other,
   and what is true of one label is true of two. *)
Lemma joined_law_is_private : delta = 0 -> stay O <= q O -> q O <= exp eps * stay O ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> joined f h f' h' -> private C eps delta (flip f h) (flip f' h').
Proof.
  intros D0 even back f h f' h' Hf Hf' (L1 & L2 & HL).
  destruct (Nat.eq_dec f f') as [<-|Hne]; [apply one_label; assumption|].
  pose proof HK. pose proof (exp_ge_1 eps Heps). pose proof (stays O). pose proof (stays 1). pose proof (falls O). 
  pose proof (others O). pose proof (label O). rewrite D0 in *. rewrite Rmult_0_l in *.
  assert (slow : q O <= exp eps * q 1%nat) by nra.
  assert (grows : stay O <= stay 1%nat) by (unfold stay; nra).
  assert (scaled : forall x, 0 <= x -> x <= exp eps * x) by (intros; nra).
  apply private_by_ratio. intros c _.
  assert (by_entries : forall x y, x <= exp eps * y -> x / N <= exp eps * (y / N)).
  { intros x y H'. pose proof (over x y 0 ltac:(lra)). lra. }
  pose proof (scaled (stay O) ltac:(lra)). pose proof (scaled (stay 1%nat) ltac:(lra)). pose proof (scaled (q O) ltac:(lra)).
  pose proof (scaled (q 1%nat) ltac:(lra)).
  assert (exp eps * stay O <= exp eps * q O) by (apply Rmult_le_compat_l; lra).
  assert (exp eps * stay O <= exp eps * stay 1%nat) by (apply Rmult_le_compat_l; lra).
  assert (cases : (h = 0 /\ h' = 0 \/ h = 0 /\ h' = 1 \/ h = 1 /\ h' = 0)%nat) by (destruct h as [|[|h]], h' as [|[|h']]; try lia; exfalso; apply Hne, HL; lia).
  unfold flip. destruct cases as [(-> & ->)|[(-> & ->)|(-> & ->)]];
    destruct (Nat.eqb c f), (Nat.eqb c f'); apply by_entries; lra.
Qed.
End FlipLaw.

(* ---- The tables of the program: entries are integers, factors of e are bounds of it. ---- *)
Section Tables.
Variables (n : Z) (C : nat) (eps delta g d : R).
Let N := IZR n.
Let K := INR (C - 1).
Hypothesis HC : (2 <= C)%nat.
Hypothesis HN : (0 < n)%Z.
Hypothesis Heps : 0 < eps.
Hypothesis Hdelta : 0 <= delta <= 1.
Hypothesis Hg : 1 <= g <= exp eps.          (* growth = exp_lower(eps) *)
Hypothesis Hd : exp (- eps) <= d <= 1.      (* decay = exp_upper(-eps) *)
Let stay (q : R) : R := N - q * K.

(* least_flip_table *)
Definition next (q : Z) : Z :=
  Z.max 0 (Z.max (Zceil (d * (IZR q - N * delta / K))) (Zceil ((N - g * stay (IZR q) - N * delta) / K))).
Fixpoint table (first : Z) (h : nat) : Z := match h with O => first | S m => next (table first m) end.

Lemma N_pos : 0 < N.
Proof. apply IZR_lt. exact HN. Qed.
Lemma K_ge_1 : 1 <= K.
Proof. unfold K. replace 1 with (INR 1) by reflexivity. apply le_INR. lia. Qed.
Lemma exp_inv : exp eps * exp (- eps) = 1.
Proof. rewrite <- exp_plus. replace (eps + - eps) with 0 by lra. apply exp_0. Qed.
Lemma decay_undone x : 0 <= x -> x <= exp eps * (d * x).
Proof.
  intros. pose proof exp_inv. pose proof (exp_pos eps).
  apply Rle_trans with (exp eps * (exp (- eps) * x)); [rewrite <- Rmult_assoc, H0; lra|].
  apply Rmult_le_compat_l; [lra|]. apply Rmult_le_compat_r; lra.
Qed.

Lemma next_ok q : 0 <= IZR q -> IZR q * K <= N ->
  0 <= IZR (next q) <= IZR q /\
  K * (IZR q - exp eps * IZR (next q)) <= delta * N /\
  stay (IZR (next q)) - exp eps * stay (IZR q) <= delta * N.
Proof.
  intros Q0 Q1. pose proof K_ge_1. pose proof N_pos. pose proof (exp_pos (- eps)). pose proof (exp_ge_1 eps ltac:(lra)).
  assert (S0 : 0 <= stay (IZR q)) by (unfold stay; nra).
  unfold next. set (a := d * (IZR q - N * delta / K)). set (b := (N - g * stay (IZR q) - N * delta) / K).
  set (m := Z.max 0 (Z.max (Zceil a) (Zceil b))).
  assert (DK : 0 <= N * delta / K) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat; lra]).
  assert (M0 : 0 <= IZR m) by (apply IZR_le; unfold m; lia).
  assert (Ma : a <= IZR m) by (eapply Rle_trans; [apply Zceil_ub|apply IZR_le; unfold m; lia]).
  assert (Mb : b <= IZR m) by (eapply Rle_trans; [apply Zceil_ub|apply IZR_le; unfold m; lia]).
  assert (B : b * K = N - g * stay (IZR q) - N * delta) by (unfold b; field; lra).
  assert (D : K * (N * delta / K) = N * delta) by (field; lra).
  assert (grown : g * stay (IZR q) <= exp eps * stay (IZR q)) by (apply Rmult_le_compat_r; lra).
  assert (bK : b * K <= IZR m * K) by (apply Rmult_le_compat_r; lra).
  repeat split; [exact M0| | |unfold stay at 1; lra].
  - apply IZR_le. unfold m. repeat apply Z.max_lub; [apply le_IZR; lra| |].
    + apply Zceil_glb. unfold a. set (t := IZR q - N * delta / K) in *.
      destruct (Rle_lt_dec 0 t); [|assert (d * t <= 0) by nra; lra]. apply Rle_trans with (1 * t); [apply Rmult_le_compat_r; lra|unfold t; lra].
    + apply Zceil_glb. apply Rmult_le_reg_r with K; [lra|]. rewrite B.
      assert (1 * stay (IZR q) <= g * stay (IZR q)) by (apply Rmult_le_compat_r; lra). unfold stay in *. nra.
  - assert (IZR q - exp eps * IZR m <= N * delta / K).
    { assert (0 <= exp eps * IZR m) by (apply Rmult_le_pos; lra).
      destruct (Rle_lt_dec (IZR q) (N * delta / K)) as [G|G]; [lra|].
      pose proof (decay_undone (IZR q - N * delta / K) ltac:(lra)) as U. fold a in U.
      assert (exp eps * a <= exp eps * IZR m) by (apply Rmult_le_compat_l; lra). lra. }
    apply Rle_trans with (K * (N * delta / K)); [apply Rmult_le_compat_l|]; lra.
Qed.

Lemma table_ok first : 0 <= IZR first -> IZR first * K <= N ->
  forall h, 0 <= IZR (table first h) /\ IZR (table first h) * K <= N.
Proof.
  intros F0 F1. induction h; simpl; [lra|]. destruct IHh as (A & B). destruct (next_ok _ A B) as ((X & Y) & _). pose proof K_ge_1.
  split; [exact X|]. apply Rle_trans with (IZR (table first h) * K); [apply Rmult_le_compat_r|]; lra.
Qed.
(* What least_flip_table asks of its first entry: the label has hardly less than another class. *)
Definition has_room (first : Z) := 0 <= IZR first /\ IZR first <= g * stay (IZR first).
Lemma room_ok first : has_room first -> 0 <= IZR first /\ IZR first * K <= N /\ IZR first <= exp eps * stay (IZR first).
Proof.
  intros (F0 & F1). assert (0 <= stay (IZR first)) by nra. repeat split; [exact F0|unfold stay in *; lra|].
  apply Rle_trans with (g * stay (IZR first)); [exact F1|apply Rmult_le_compat_r; lra].
Qed.
Lemma capped f h f' h' last : neighbours f h f' h' -> neighbours f (Nat.min h last) f' (Nat.min h' last).
Proof. intros (A & B & E). repeat split; lia. Qed.
Lemma ceil_below x : IZR (Zceil x) < x + 1.
Proof. unfold Zceil. rewrite opp_IZR. pose proof (Zfloor_ub (- x)). lra. Qed.
Lemma classes : INR C = K + 1.
Proof. unfold K. rewrite minus_INR by lia. simpl. lra. Qed.

(* stable_rr: its first entry. A table that ends with an entry `last` serves all greater distances. *)
Definition first_entry : Z := Zceil (N * (1 - delta) / (g + K)).
Theorem stable_randomised_response : has_room first_entry ->
  forall last f h f' h', (f < C)%nat -> (f' < C)%nat -> neighbours f h f' h' ->
  private C eps delta (flip C N (fun h => IZR (table first_entry h)) f (Nat.min h last))
                      (flip C N (fun h => IZR (table first_entry h)) f' (Nat.min h' last)).
Proof.
  intros Room last f h f' h' Hf Hf' Near. pose proof K_ge_1. pose proof N_pos.
  destruct (room_ok _ Room) as (F0 & F1 & F2). assert (ok := table_ok first_entry F0 F1).
  set (x := N * (1 - delta) / (g + K)). assert (X : x * (g + K) = N * (1 - delta)) by (unfold x; field; lra).
  assert (U : x <= IZR first_entry) by apply Zceil_ub.
  apply flip_law_is_private; try assumption; try lra; try (intros k; apply (next_ok _ (proj1 (ok k)) (proj2 (ok k)))).
  - fold K. simpl. assert (IZR first_entry * (g + K) <= IZR first_entry * (exp eps + K)) by (apply Rmult_le_compat_l; lra). nra.
  - apply capped. exact Near.
Qed.
(* The room is there unless epsilon is tiny or classes are many. *)
Theorem the_first_entry_has_room : INR C * (g + INR C - 1) <= N * (g - 1) -> has_room first_entry.
Proof.
  intros Hroom. pose proof K_ge_1. pose proof N_pos. rewrite classes in Hroom. unfold has_room, first_entry.
  set (x := N * (1 - delta) / (g + K)). assert (X : x * (g + K) = N * (1 - delta)) by (unfold x; field; lra).
  assert (0 <= x) by (apply Rmult_le_pos; [apply Rmult_le_pos; lra|left; apply Rinv_0_lt_compat; lra]).
  pose proof (Zceil_ub x). pose proof (ceil_below x). split; [lra|].
  enough (IZR (Zceil x) * (K + 1) <= N) by (unfold stay; assert (1 * (N - IZR (Zceil x) * K) <= g * (N - IZR (Zceil x) * K)) by (apply Rmult_le_compat_r; lra); lra).
  apply Rmult_le_reg_r with (g + K); [lra|].
  assert (IZR (Zceil x) * (g + K) <= N * (1 - delta) + (g + K)) by nra.
  assert (N * (1 - delta) <= N) by nra. nra.
Qed.

(* unanimous_rr, one_record_rr: nearly uniform at 0, then the same recursion. *)
Definition uniform_entry : Z := Zceil (N / INR C).
Theorem joined_distances : delta = 0 -> has_room uniform_entry ->
  forall last f h f' h', (f < C)%nat -> (f' < C)%nat -> joined f h f' h' ->
  private C eps delta (flip C N (fun h => IZR (table uniform_entry h)) f (Nat.min h last))
                      (flip C N (fun h => IZR (table uniform_entry h)) f' (Nat.min h' last)).
Proof.
  intros D0 Room last f h f' h' Hf Hf' (L1 & L2 & HL). pose proof K_ge_1. pose proof N_pos.
  destruct (room_ok _ Room) as (F0 & F1 & F2). assert (ok := table_ok uniform_entry F0 F1).
  assert (U : N <= IZR uniform_entry * (K + 1)).
  { rewrite <- classes. apply Rle_trans with (N / INR C * INR C); [right; field; rewrite classes; lra|].
    apply Rmult_le_compat_r; [rewrite classes; lra|apply Zceil_ub]. }
  apply joined_law_is_private; try assumption; try lra; try (intros k; apply (next_ok _ (proj1 (ok k)) (proj2 (ok k)))).
  - fold K. simpl. lra.
  - repeat split; lia.
Qed.
(* With one entry after the first, h need not be smooth. *)
Theorem one_record_response : delta = 0 -> has_room uniform_entry ->
  forall f h f' h', (f < C)%nat -> (f' < C)%nat -> ((1 <= h)%nat /\ (1 <= h')%nat -> f = f') ->
  private C eps delta (flip C N (fun h => IZR (table uniform_entry h)) f (Nat.min h 1))
                      (flip C N (fun h => IZR (table uniform_entry h)) f' (Nat.min h' 1)).
Proof.
  intros D0 Room f h f' h' Hf Hf' HL.
  assert (J : joined f (Nat.min h 1) f' (Nat.min h' 1)) by (repeat split; lia).
  pose proof (joined_distances D0 Room 1 f _ f' _ Hf Hf' J) as P. rewrite <- !Nat.min_assoc in P. exact P.
Qed.
Theorem the_uniform_entry_has_room : INR C * (1 + g * (INR C - 1)) <= N * (g - 1) -> has_room uniform_entry.
Proof.
  intros Hroom. pose proof K_ge_1. pose proof N_pos. rewrite classes in Hroom. unfold has_room, uniform_entry. rewrite classes.
  set (x := N / (K + 1)). assert (X : x * (K + 1) = N) by (unfold x; field; lra).
  assert (0 <= x) by (apply Rmult_le_pos; [lra|left; apply Rinv_0_lt_compat; lra]).
  pose proof (Zceil_ub x). pose proof (ceil_below x). split; [lra|]. unfold stay.
  assert (gK : 0 <= g * K) by (apply Rmult_le_pos; lra).
  assert (1 + g * K <= x * (g - 1)).
  { apply Rmult_le_reg_l with (K + 1); [lra|]. replace ((K + 1) * (x * (g - 1))) with (x * (K + 1) * (g - 1)) by ring. rewrite X. lra. }
  assert (IZR (Zceil x) * (1 + g * K) <= (x + 1) * (1 + g * K)) by (apply Rmult_le_compat_r; lra). rewrite <- X. lra.
Qed.
End Tables.

(* ---- Published flip laws: two classes, any table that keeps to these two bounds (binary_table). ---- *)
Theorem published_flip_laws : forall (N eps delta : R) (q : nat -> R), 0 < N -> 0 <= eps -> 0 <= delta ->
  (forall h, 0 <= q h /\ q h * 2 <= N) -> (forall h, q (S h) <= q h) ->
  N - q O <= exp eps * q O + delta * N -> (forall h, q h <= exp eps * q (S h) + delta * N) ->
  forall f h f' h', (f < 2)%nat -> (f' < 2)%nat -> neighbours f h f' h' -> private 2 eps delta (flip 2 N q f h) (flip 2 N q f' h').
Proof.
  intros N eps delta q HN Heps Hdelta range falls first flips. pose proof (exp_ge_1 eps Heps).
  assert (one : INR (2 - 1) = 1) by reflexivity.
  assert (D : 0 <= delta * N) by (apply Rmult_le_pos; lra).
  apply flip_law_is_private; try assumption; try lia; rewrite one in *; 
    [intros k; specialize (range k); lra|intros k; specialize (flips k); lra|intros k| |].
  - (* from k + 1 to k, staying: q (e - 1/e) <= e - 1 as q is at most a half *)
    specialize (range k). specialize (flips k). set (e := exp eps) in *. apply Rmult_le_reg_l with e; [lra|].
    assert (q k * (e * e - 1) <= N / 2 * (e * e - 1)) by (apply Rmult_le_compat_r; nra).
    assert (0 <= N / 2 * ((e - 1) * (e - 1))) by (apply Rmult_le_pos; nra).
    assert (0 <= delta * N * (e - 1)) by (apply Rmult_le_pos; lra). nra.
  - lra.
  - specialize (range O). assert (1 * (N - q O * 1) <= exp eps * (N - q O * 1)) by (apply Rmult_le_compat_r; lra). lra.
Qed.

(* ---- Examples that satisfy the hypotheses, and wrong statements refuted ---- *)
Definition two_128 : Z := 2 ^ 128.
Ltac small := solve [lia | reflexivity | try unfold two_128; simpl INR; simpl Z.pow; lra].

Example the_first_entry_has_room_example : has_room two_128 3 2 (first_entry two_128 3 (1 / 1000) 2).
Proof. apply (the_first_entry_has_room two_128 3 1); pose proof exp_1; pose proof exp_minus_1; try small. Qed.
Example stable_randomised_response_example : forall last f h f' h', (f < 3)%nat -> (f' < 3)%nat -> neighbours f h f' h' ->
  private 3 1 (1 / 1000) (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 (1 / 1000) 2 (/ 2) (first_entry two_128 3 (1 / 1000) 2) h)) f (Nat.min h last))
    (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 (1 / 1000) 2 (/ 2) (first_entry two_128 3 (1 / 1000) 2) h)) f' (Nat.min h' last)).
Proof. pose proof exp_1. pose proof exp_minus_1. apply stable_randomised_response; try small. apply the_first_entry_has_room_example. Qed.
Example the_uniform_entry_has_room_example : has_room two_128 3 2 (uniform_entry two_128 3).
Proof. apply (the_uniform_entry_has_room two_128 3 1); pose proof exp_1; try small. Qed.
Example joined_distances_example : forall last f h f' h', (f < 3)%nat -> (f' < 3)%nat -> joined f h f' h' ->
  private 3 1 0 (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 0 2 (/ 2) (uniform_entry two_128 3) h)) f (Nat.min h last))
    (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 0 2 (/ 2) (uniform_entry two_128 3) h)) f' (Nat.min h' last)).
Proof. pose proof exp_1. pose proof exp_minus_1. apply joined_distances; try small. apply the_uniform_entry_has_room_example. Qed.
Example one_record_response_example : forall f h f' h', (f < 3)%nat -> (f' < 3)%nat -> ((1 <= h)%nat /\ (1 <= h')%nat -> f = f') ->
  private 3 1 0 (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 0 2 (/ 2) (uniform_entry two_128 3) h)) f (Nat.min h 1))
    (flip 3 (IZR two_128) (fun h => IZR (table two_128 3 0 2 (/ 2) (uniform_entry two_128 3) h)) f' (Nat.min h' 1)).
Proof. pose proof exp_1. pose proof exp_minus_1. apply one_record_response; try small. apply the_uniform_entry_has_room_example. Qed.
Example published_flip_laws_example : private 2 1 0 (flip 2 4 (fun _ => 2) 0 0) (flip 2 4 (fun _ => 2) 1 0).
Proof. pose proof exp_1. apply published_flip_laws; try lra; try lia; try (intros; lra). repeat split; lia. Qed.

Lemma ceil_of x z : x = IZR z -> Zceil x = z.
Proof. intros ->. apply Zceil_IZR. Qed.
(* An entry whose bounds are whole numbers. *)
Lemma next_of n C delta g d q x y z : d * (IZR q - IZR n * delta / INR (C - 1)) = IZR x ->
  (IZR n - g * (IZR n - IZR q * INR (C - 1)) - IZR n * delta) / INR (C - 1) = IZR y ->
  Z.max 0 (Z.max x y) = z -> next n C delta g d q = z.
Proof. intros X Y <-. unfold next. rewrite (ceil_of _ _ X), (ceil_of _ _ Y). reflexivity. Qed.
Ltac at_class c H := intros H; specialize (H (fun x => Nat.eqb x c)); unfold of_event, flip in H; simpl in H; rewrite exp_ln_2 in H.
Ltac refute c := let H := fresh in at_class c H; lra.

(* The first entry less by one. *)
Fact stable_randomised_response_mutant : let t h := IZR (table 3 2 0 2 (/ 2) (first_entry 3 2 0 2 - 1) h) in
  ~ private 2 (ln 2) 0 (flip 2 3 t 0 0) (flip 2 3 t 1 0).
Proof. unfold first_entry. rewrite (ceil_of _ 1) by (simpl; lra). refute 0%nat. Qed.
(* Without a condition there is no room: one unit of probability for two classes. *)
Fact the_first_entry_has_room_mutant : ~ has_room 1 2 2 (first_entry 1 2 0 2).
Proof. unfold has_room, first_entry. rewrite (Zceil_imp 1) by (simpl; lra). simpl. lra. Qed.
Fact the_uniform_entry_has_room_mutant : ~ has_room 1 2 2 (uniform_entry 1 2).
Proof. unfold has_room, uniform_entry. rewrite (Zceil_imp 1) by (simpl; lra). simpl. lra. Qed.
(* Joined distances, drawn by stable_rr. *)
Fact joined_distances_mutant : let t h := IZR (table 12 2 0 2 (/ 2) (first_entry 12 2 0 2) h) in
  joined 0 0 1 1 /\ ~ private 2 (ln 2) 0 (flip 2 12 t 0 0) (flip 2 12 t 1 1).
Proof.
  split; [repeat split; lia|]. unfold first_entry. rewrite (ceil_of _ 4) by (simpl; lra). at_class 0%nat P.
  rewrite (next_of _ _ _ _ _ _ 2 (-4) 2) in P by (reflexivity || simpl; lra). lra.
Qed.
(* Two entries after the first, and distances that are not smooth. *)
Fact one_record_response_mutant : let t h := IZR (table 24 2 0 2 (/ 2) (uniform_entry 24 2) h) in
  ~ private 2 (ln 2) 0 (flip 2 24 t 0 (Nat.min 0 2)) (flip 2 24 t 1 (Nat.min 2 2)).
Proof.
  unfold uniform_entry. rewrite (ceil_of _ 12) by (simpl; lra). at_class 0%nat P.
  rewrite (next_of _ _ _ _ _ 12 6 0 6) in P by (reflexivity || simpl; lra).
  rewrite (next_of _ _ _ _ _ 6 3 (-12) 3) in P by (reflexivity || simpl; lra). lra.
Qed.
(* Flips of more than a half. *)
Fact published_flip_laws_mutant : let q h := match h with O => 2 | _ => 1 end in
  (forall h, 0 <= q h /\ q h <= 2) /\ (forall h, q (S h) <= q h) /\ 2 - q O <= exp (ln 2) * q O /\ (forall h, q h <= exp (ln 2) * q (S h)) /\
  ~ private 2 (ln 2) 0 (flip 2 2 q 0 1) (flip 2 2 q 0 0).
Proof. rewrite exp_ln_2. repeat split; try (destruct h; lra); try lra. refute 0%nat. Qed.
